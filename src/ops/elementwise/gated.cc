// Gated units: one half of a tensor through an activation, times the other half.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/gated.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"

#ifndef BELAY_OPS_GATED_ONCE
#define BELAY_OPS_GATED_ONCE
#include "base/error.h"
#include "ops/elementwise/loops.h"
#include "ops/elementwise/unlisted.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/sequence.h"
#include "tensor/codes.h"
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

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {

BELAY_SIMD_EXPORT(TimesSigmoidLoops);
BELAY_SIMD_EXPORT(SiluTimesLoops);
BELAY_SIMD_EXPORT(GeluTimesLoops);
BELAY_SIMD_EXPORT(GeluTanhTimesLoops);

namespace kernels {
namespace {

Tensor HalfOf(const Operand& x, int64_t dim, int64_t half) {
  Tensor view = *x.tensor;
  int axis = rules::WrapDim(x, dim);
  view.shape[axis] /= 2;
  view.offset += half * view.shape[axis] * view.strides[axis];
  return view;
}

void PlanOfHalves(Plan& plan, const PointwiseLoops& loops, DType compute, const Operand& x, int64_t dim,
                  const Operand& out) {
  const Tensor left = HalfOf(x, dim, 0), right = HalfOf(x, dim, 1);
  PlanPointwise(plan, loops, compute,
                {{&left, nullptr, x.binding, x.name}, {&right, nullptr, x.binding, x.name}}, {}, out);
}

}  // namespace

void Glu(Plan& plan, DType compute, const Operand& self, int64_t dim, const Operand& out) {
  PlanOfHalves(plan, BELAY_SIMD_CALL(TimesSigmoidLoops)(), compute, self, dim, out);
}

void SwiGlu(Plan& plan, DType compute, const Operand& x, int64_t dim, const Operand& out) {
  PlanOfHalves(plan, BELAY_SIMD_CALL(SiluTimesLoops)(), compute, x, dim, out);
}

void GeGlu(Plan& plan, DType compute, const Operand& self, int64_t dim, int64_t approximate,
           bool activate_left, const Operand& out, const Operand& out_gelu) {
  if (out_gelu.shape() != out.shape()) {
    Fail(tensor::kInvalidArgument, "op-out-shape", "{} has shape {}, but the result has {}", out_gelu.name,
         out_gelu.shape().ToString(), out.shape().ToString());
  }
  Tensor halves[2] = {HalfOf(self, dim, 0), HalfOf(self, dim, 1)};
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
