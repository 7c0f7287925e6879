// Slices repeated as often as a tensor says.
#include <algorithm>

#include "base/error.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rules.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

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
      if (count < 0 || count > size - filled) FailSum(count);
      std::fill_n(places + filled, count, i);
      filled += count;
    }
    if (filled != size) FailSum(-1);
  }

  [[noreturn]] void FailSum(int64_t count) const {
    Fail(kIndexFault, "op-repeats",
         "repeats does not make {} slices of {}, which outputSize asks for (number {})", size, slices, count);
  }
};

// Into a packed tensor of `size` numbers.
void PlanRepeatedPlaces(Plan& plan, const Operand& repeats, int64_t slices, int64_t size,
                        const Operand& places) {
  plan.SetCost(100 + static_cast<uint64_t>(size));
  plan.SetBody(
      RepeatedPlacesBody{Indices(plan, *repeats.tensor), repeats.binding, places.binding, slices, size});
}

}  // namespace

namespace kernels {

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
