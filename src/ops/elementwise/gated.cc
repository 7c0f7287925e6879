// Gated units: one half of a tensor through an activation, times the other half.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/gated.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"

#ifndef BELAY_OPS_GATED_ONCE
#define BELAY_OPS_GATED_ONCE
#include <functional>
#include <string_view>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/elementwise/loops.h"
#include "ops/elementwise/unlisted.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rules.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

BELAY_BINARY_LOOP(TimesSigmoid, a* Sigmoid(b))
BELAY_LOOPS_OF_FLOATS(TimesSigmoid)
BELAY_BINARY_LOOP(SiluTimes, a* Sigmoid(a) * b)
BELAY_LOOPS_OF_FLOATS(SiluTimes)
BELAY_BINARY_LOOP(GeluTimes, T(0.5) * a * (1 + Erf(a * T(0.70710678118654752))) * b)
BELAY_LOOPS_OF_FLOATS(GeluTimes)
BELAY_BINARY_LOOP(GeluTanhTimes, a* Sigmoid(T(1.5957691216057308) * (a + T(0.044715) * a * a * a)) * b)
BELAY_LOOPS_OF_FLOATS(GeluTanhTimes)

template <class T>
inline T NoMoreThan(T x, T most) {
  return x > most ? most : x;
}
// p: alpha, q: the limit, r: what is added to the gate
BELAY_BINARY_LOOP(ClippedSwiglu,
                  NoMoreThan(a, q) * Sigmoid(p * NoMoreThan(a, q)) * (NoMoreThan(b < -q ? -q : b, q) + r))
BELAY_LOOPS_OF_FLOATS(ClippedSwiglu)

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {

BELAY_SIMD_EXPORT(TimesSigmoidLoops);
BELAY_SIMD_EXPORT(SiluTimesLoops);
BELAY_SIMD_EXPORT(GeluTimesLoops);
BELAY_SIMD_EXPORT(GeluTanhTimesLoops);
BELAY_SIMD_EXPORT(ClippedSwigluLoops);

namespace kernels {
namespace {

void PlanOfHalves(Plan& plan, const PointwiseLoops& loops, DType compute, const Operand& x, int64_t dim,
                  const Operand& out) {
  const int axis = rules::WrapDim(x, dim);
  const Tensor left = tensor::HalfOf(*x.tensor, axis, 0), right = tensor::HalfOf(*x.tensor, axis, 1);
  PlanPointwise(plan, loops, compute,
                {{&left, nullptr, x.binding, x.name}, {&right, nullptr, x.binding, x.name}}, {}, out);
}

// Two columns of each row at a time, of as many rows as the groups have.
struct ClippedSwigluBody {
  Rows active, gate, out;
  PointwiseLoop loop;
  LoopAttributes attributes;
  Indices groups;
  int groups_at = -1;
  int64_t tokens, rows_each;  // what the groups count, and rows of one of them

  void operator()(const Frame& frame) const {
    int64_t kept = groups_at >= 0 ? 0 : tokens;
    if (groups_at >= 0) {
      for (const int64_t count : groups.Read(frame, groups_at))
        kept += std::clamp<int64_t>(count, 0, tokens - kept);
    }
    const int64_t rows = kept * rows_each;
    ParallelFor(rows, RowGrain(out.width()), [&](int64_t begin, int64_t end) {
      alignas(64) float left[kBlock], right[kBlock], result[kBlock];
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t first = 0; first < out.width(); first += kBlock) {
          const int64_t n = std::min(kBlock, out.width() - first);
          const void* in[2] = {active.Load(frame, i, first, n, left), gate.Load(frame, i, first, n, right)};
          loop(result, in, attributes, n);
          out.Store(frame, i, first, n, result);
        }
      }
    });
  }
};

// Every second element of the last dimension: the first of two (0), or the second (1).
Tensor InTurns(const Tensor& t, int64_t which) {
  Tensor view = t;
  view.shape.back(0) /= 2;
  view.offset += which * view.strides.back(0);
  view.strides.back(0) *= 2;
  return view;
}

// A packed tensor with what is from dimension `axis` on as one.
Tensor AsRows(const Tensor& packed, int axis) {
  const int64_t rows = tensor::CountOf(Shape::Of(packed.shape.data(), axis)), width = packed.count() / rows;
  Tensor view = packed;
  view.shape = {rows, width};
  view.strides = {width, 1};
  return view;
}

// Of packed tensors, which is what lies where in them is copied to. What is not written stays as it was.
void ClipPacked(Plan& plan, const Operand& x, const Operand& groups, const Operand& out,
                const std::function<void(Plan&, const Operand&, const Operand&, const Operand&)>& clip) {
  std::vector<const Operand*> in = {&x, &out};
  if (groups.present()) in.push_back(&groups);
  PlanThrough(
      plan, tensor::PackedOf(x.dtype(), x.shape()), in, out,
      [&](Plan& part, const auto& from, const Operand& packed) { Copy(part, x.dtype(), from[0], packed); },
      [&](Plan& part, const auto& from, const Operand& packed, const Operand& to) {
        std::vector<const Operand*> rest = {&packed, &from[1]};
        if (groups.present()) rest.push_back(&from[2]);
        PlanThrough(
            part, tensor::PackedOf(out.dtype(), out.shape()), rest, to,
            [&](Plan& inner, const auto& among, const Operand& result) {
              Sequence steps(inner);
              steps.Add([&](Plan& step) { Copy(step, out.dtype(), among[1], result); });
              steps.Add(
                  [&](Plan& step) { clip(step, among[0], groups.present() ? among[2] : Operand{}, result); });
              steps.Finish();
            },
            [&](Plan& inner, const auto&, const Operand& result, const Operand& last) {
              Copy(inner, out.dtype(), result, last);
            });
      });
}

}  // namespace

void ClippedSwiglu(Plan& plan, DType compute, const Operand& x, const Operand& groupIndex, int64_t dim,
                   double alpha, double limit, double bias, bool interleaved, const Operand& out) {
  CheckExpertRank(plan, x, 2, tensor::kMaxRank);
  if (groupIndex.present()) CheckExpertRank(plan, groupIndex, 1, 1);
  if (out.tensor->empty()) return;
  const int axis = rules::WrapDim(x, dim);
  const int64_t tokens = tensor::CountOf(Shape::Of(x.shape().data(), axis));
  Tensor from = *x.tensor, to = *out.tensor;
  if (interleaved && axis + 1 < from.shape.rank()) {  // two that are neighbours may be of two rows
    if (!tensor::IsPacked(from.shape, from.strides) || !tensor::IsPacked(to.shape, to.strides)) {
      return ClipPacked(plan, x, groupIndex, out,
                        [&](Plan& step, const Operand& packed, const Operand& groups, const Operand& result) {
                          ClippedSwiglu(step, compute, packed, groups, dim, alpha, limit, bias, true, result);
                        });
    }
    from = AsRows(from, axis), to = AsRows(to, axis);
  }
  const Tensor active = interleaved ? InTurns(from, 0) : tensor::HalfOf(from, axis, 0),
               gate = interleaved ? InTurns(from, 1) : tensor::HalfOf(from, axis, 1);
  const auto as = [](const Tensor& view, const Operand& of) {
    return Rows(Operand{&view, nullptr, of.binding, of.name});
  };
  const Rows results = as(to, out);
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()));
  plan.SetBody(
      ClippedSwigluBody{as(active, x), as(gate, x), results, BELAY_SIMD_CALL(ClippedSwigluLoops)().f32,
                        LoopAttributes({alpha, limit, bias}),
                        groupIndex.present() ? Indices(plan, *groupIndex.tensor) : Indices(),
                        groupIndex.present() ? groupIndex.binding : -1, tokens, results.count() / tokens});
}

void Glu(Plan& plan, DType compute, const Operand& self, int64_t dim, const Operand& out) {
  PlanOfHalves(plan, BELAY_SIMD_CALL(TimesSigmoidLoops)(), compute, self, dim, out);
}

void SwiGlu(Plan& plan, DType compute, const Operand& x, int64_t dim, const Operand& out) {
  PlanOfHalves(plan, BELAY_SIMD_CALL(SiluTimesLoops)(), compute, x, dim, out);
}

void GeluMul(Plan& plan, DType, const Operand& self, const char* approximate, const Operand& out) {
  const std::string_view name = approximate == nullptr ? "none" : approximate;
  if (name != "none" && name != "tanh")
    Fail(tensor::kInvalidArgument, "op-approximate", "approximate is \"{}\"; it is none or tanh", name);
  CheckShape(out, rules::Halved(self, -1));
  CheckSameType(self, out);
  PlanOfHalves(plan,
               name == "tanh" ? BELAY_SIMD_CALL(GeluTanhTimesLoops)() : BELAY_SIMD_CALL(GeluTimesLoops)(),
               self.dtype(), self, -1, out);
}

void GeGlu(Plan& plan, DType compute, const Operand& self, int64_t dim, int64_t approximate,
           bool activate_left, const Operand& out, const Operand& out_gelu) {
  if (out_gelu.shape() != out.shape()) {
    Fail(tensor::kInvalidArgument, "op-out-shape", "{} has shape {}, but the result has {}", out_gelu.name,
         out_gelu.shape().ToString(), out.shape().ToString());
  }
  const int axis = rules::WrapDim(self, dim);
  const Tensor halves[2] = {tensor::HalfOf(*self.tensor, axis, 0), tensor::HalfOf(*self.tensor, axis, 1)};
  Operand active{&halves[activate_left ? 0 : 1], nullptr, self.binding, self.name};
  Operand gate{&halves[activate_left ? 1 : 0], nullptr, self.binding, self.name};
  Sequence parts(plan);
  parts.Add([&](Plan& part) { GeluV2(part, compute, active, approximate, out_gelu); });
  parts.Add([&](Plan& part) {
    PlanPointwise(
        part, approximate == 1 ? BELAY_SIMD_CALL(GeluTanhTimesLoops)() : BELAY_SIMD_CALL(GeluTimesLoops)(),
        compute, {active, gate}, {}, out);
  });
  parts.Finish();
}

}  // namespace kernels
}  // namespace belay::ops
#endif  // HWY_ONCE
