// Slices repeated as often as a tensor says.
#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/rules.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

[[noreturn]] void FailSum(int64_t size, int64_t count) {
  Fail(kIndexFault, "op-repeats", "repeats does not make {} slices, as there are (number {})", size, count);
}

// places = the number of each slice, as often as it is repeated.
struct RepeatedPlacesBody {
  Indices repeats;
  int repeats_at, places_at;
  int64_t slices, size;  // of `repeats`, of the places

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> times = repeats.Read(frame, repeats_at);
    auto* places = reinterpret_cast<int64_t*>(frame.at[places_at]);
    int64_t filled = 0;
    for (int64_t i = 0; i < slices; ++i) {
      const int64_t count = times[times.size() == 1 ? 0 : static_cast<size_t>(i)];
      if (count < 0 || count > size - filled) FailSum(size, count);
      std::fill_n(places + filled, count, i);
      filled += count;
    }
    if (filled != size) FailSum(size, -1);
  }
};

// Into a packed tensor of `size` numbers.
void PlanRepeatedPlaces(Plan& plan, const Operand& repeats, int64_t slices, int64_t size,
                        const Operand& places) {
  plan.SetCost(100 + static_cast<uint64_t>(size));
  plan.SetBody(
      RepeatedPlacesBody{Indices(plan, *repeats.tensor), repeats.binding, places.binding, slices, size});
}

// The slices of each are added up in double precision.
struct RepeatGradientBody {
  Indices repeats;
  PackedFloats gradient, out;
  int repeats_at;
  int64_t outer, slices, size, inner;  // of out, of the gradient

  void operator()(const Frame& frame) const {
    const std::span<int64_t> ends = repeats.Read(frame, repeats_at);
    int64_t filled = 0;
    for (int64_t& count : ends) {
      const int64_t each = ends.size() == 1 ? slices : 1;
      if (count < 0 || count > (size - filled) / each) FailSum(size, count);
      filled += count * each;
      if (each == 1) count = filled;
    }
    if (filled != size) FailSum(size, -1);
    const float* from = gradient.Load(frame);
    float* to = out.Begin(frame);
    ParallelFor(outer * slices, 1 + 16 * 1024 / (inner + 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Slice(ends, from, i, to + i * inner);
    });
    out.Finish(frame);
  }

  void Slice(std::span<const int64_t> ends, const float* from, int64_t i, float* to) const {
    const int64_t slice = i % slices;
    const bool one = ends.size() == 1;
    const int64_t first = one ? slice * ends[0] : slice == 0 ? 0 : ends[static_cast<size_t>(slice - 1)];
    const int64_t last = one ? first + ends[0] : ends[static_cast<size_t>(slice)];
    const float* row = from + i / slices * size * inner;
    for (int64_t e = 0; e < inner; ++e) {
      double sum = 0;
      for (int64_t k = first; k < last; ++k) sum += static_cast<double>(row[k * inner + e]);
      to[e] = static_cast<float>(sum);
    }
  }
};

}  // namespace

namespace kernels {

void RepeatInterleaveGrad(Plan& plan, DType, const Operand& grad, const Operand& repeats, int64_t dim,
                          const Operand& out) {
  const Shape from = grad.shape(), to = out.shape();
  const int axis = rules::WrapDim(grad, dim);
  CheckSameType(grad, out);
  if (from.rank() == 0)
    Fail(tensor::kInvalidArgument, "op-dim", "{} has no dimension to repeat along", grad.name);
  Shape wanted = from;
  wanted[axis] = to.rank() == from.rank() ? to[axis] : 0;
  CheckShape(out, wanted);
  if (repeats.shape().rank() > 1 || (repeats.tensor->count() != 1 && repeats.tensor->count() != to[axis])) {
    Fail(tensor::kInvalidArgument, "op-repeats",
         "{} has shape {}; it has one element, or one for each of {} slices", repeats.name,
         repeats.shape().ToString(), to[axis]);
  }
  if (out.tensor->empty()) return;
  RepeatGradientBody body;
  body.repeats = Indices(plan, *repeats.tensor), body.repeats_at = repeats.binding;
  body.gradient = PackedFloats(grad, Flow::kIn, plan), body.out = PackedFloats(out, Flow::kOut, plan);
  body.slices = to[axis], body.size = from[axis];
  body.outer = body.inner = 1;
  for (int d = 0; d < axis; ++d) body.outer *= from[d];
  for (int d = axis + 1; d < from.rank(); ++d) body.inner *= from[d];
  plan.SetCost(100 + static_cast<uint64_t>(grad.tensor->count() + out.tensor->count()));
  plan.SetBody(body);
}

void RepeatedPlaces(Plan& plan, DType, const Operand& repeats, int64_t outputSize, const Operand& out) {
  if (repeats.shape().rank() != 1) {
    Fail(tensor::kInvalidArgument, "op-repeats", "{} has shape {}; it is a vector", repeats.name,
         repeats.shape().ToString());
  }
  CheckShape(out, {outputSize});
  if (outputSize == 0 && repeats.tensor->empty()) return;
  PlanThrough(
      plan, PackedPlaces({outputSize}), {&repeats}, out,
      [&](Plan& part, const auto& in, const Operand& places) {
        PlanRepeatedPlaces(part, in[0], repeats.tensor->count(), outputSize, places);
      },
      [&](Plan& part, const auto&, const Operand& places, const Operand& to) {
        Copy(part, to.dtype(), places, to);
      });
}

void RepeatInterleaveWithDim(Plan& plan, DType, const Operand& self, const Operand& repeats, int64_t dim,
                             int64_t outputSize, const Operand& out) {
  const int axis = rules::WrapDim(self, dim);
  Shape wanted = self.shape();
  if (wanted.rank() == 0)
    Fail(tensor::kInvalidArgument, "op-dim", "{} has no dimension to repeat along", self.name);
  const int64_t slices = wanted[axis], given = repeats.tensor->count();
  if (repeats.shape().rank() > 1 || (given != 1 && given != slices)) {
    Fail(tensor::kInvalidArgument, "op-repeats",
         "{} has shape {}; it has one element, or one for each of {} slices", repeats.name,
         repeats.shape().ToString(), slices);
  }
  if (outputSize < 0) Fail(tensor::kInvalidArgument, "op-repeats", "outputSize is {}", outputSize);
  wanted[axis] = outputSize;
  CheckSameType(self, out);
  CheckShape(out, wanted);
  if (out.tensor->empty()) return;
  PlanThrough(
      plan, PackedPlaces({outputSize}), {&self, &repeats}, out,
      [&](Plan& part, const auto& in, const Operand& places) {
        PlanRepeatedPlaces(part, in[1], slices, outputSize, places);
      },
      [&](Plan& part, const auto& in, const Operand& places, const Operand& to) {
        GatherAxis(part, to.dtype(), in[0], axis, places, to);
      });
}

void RepeatInterleaveFlat(Plan& plan, DType compute, const Operand& self, const Operand& repeats,
                          int64_t outputSize, const Operand& out) {
  const auto as_row = [](const Operand& packed) {
    Tensor row = *packed.tensor;
    row.shape = {packed.tensor->count()}, row.strides = {1};
    return row;
  };
  if (tensor::IsPacked(self.shape(), self.tensor->strides)) {
    const Tensor row = as_row(self);
    return RepeatInterleaveWithDim(plan, compute, {&row, nullptr, self.binding, self.name}, repeats, 0,
                                   outputSize, out);
  }
  PlanThrough(
      plan, tensor::PackedOf(self.dtype(), self.shape()), {&self, &repeats}, out,
      [&](Plan& part, const auto& in, const Operand& between) { Copy(part, self.dtype(), in[0], between); },
      [&](Plan& part, const auto& in, const Operand& between, const Operand& to) {
        const Tensor row = as_row(between);
        RepeatInterleaveWithDim(part, compute, {&row, nullptr, between.binding, self.name}, in[1], 0,
                                outputSize, to);
      });
}

}  // namespace kernels
}  // namespace belay::ops
