// Channels that are dealt out, and slices that are put back where they were cut.
#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv/channels_last.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/rearranged.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

// The slices overlap where a step is shorter than they are: all is added up in f64.
struct SlicesBody {
  PackedOperand in, out;
  int64_t before, size,
      behind;  // of out: the dimensions before the one that was cut, it, and those behind it
  int64_t slices, length, step;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const double*>(in.Loaded(frame));
    auto* to = reinterpret_cast<double*>(out.Result(frame));
    const int64_t each = size * behind + slices * behind * length;
    ParallelFor(before, std::max<int64_t>(1, LoopNest::kGrain / std::max<int64_t>(each, 1)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    Add(to + i * size * behind, from + i * slices * behind * length);
                  }
                });
    out.Store(frame);
  }

  void Add(double* to, const double* from) const {
    std::fill_n(to, size * behind, 0.0);
    for (int64_t s = 0; s < slices; ++s) {
      for (int64_t i = 0; i < behind; ++i) {
        for (int64_t k = 0; k < length; ++k) to[(s * step + k) * behind + i] += *from++;
      }
    }
  }
};

}  // namespace

namespace kernels {

void ChannelShuffle(Plan& plan, DType, const Operand& self, int64_t groups, const Operand& out) {
  CheckSameType(self, out);
  const Shape& shape = self.tensor->shape;
  if (shape.rank() < 3 || groups < 1 || shape[1] % groups != 0) {
    Fail(
        tensor::kInvalidArgument, "op-channel-groups",
        "{} has the shape {} and groups is {}; there are three dimensions or more, and groups divides the second",
        self.name, shape.ToString(), groups);
  }
  std::vector<AxisMap> maps;
  for (int d = 0; d < shape.rank(); ++d) maps.push_back(IdentityMap(shape[d]));
  const int64_t each = shape[1] / groups;
  for (int64_t c = 0; c < shape[1]; ++c) maps[1][static_cast<size_t>(c)] = c % groups * each + c / groups;
  PlanRearranged(plan, self, out, maps, nullptr);
}

void UnfoldGrad(Plan& plan, DType, const Operand& gradient, std::span<const int64_t> sizes, int64_t dim,
                int64_t length, int64_t step, const Operand& out) {
  CheckSameType(gradient, out);
  if (sizes.size() >= static_cast<size_t>(tensor::kMaxRank)) {
    Fail(tensor::kInvalidArgument, "op-rank", "inputSizes has {} sizes; at most {} are supported",
         sizes.size(), tensor::kMaxRank - 1);
  }
  const Shape wanted = Shape::Of(sizes.data(), static_cast<int>(sizes.size()));
  CheckShape(out, wanted);
  const int rank = std::max(wanted.rank(), 1);
  const int64_t axis = dim < 0 ? dim + rank : dim;
  const int64_t size = wanted.rank() == 0         ? 1
                       : axis < 0 || axis >= rank ? -1
                                                  : wanted[static_cast<int>(axis)];
  if (size < 0 || length < 0 || length > size || step < 1) {
    Fail(
        tensor::kInvalidArgument, "op-unfold",
        "inputSizes is {}, and dimension {} is cut into slices of {}, one every {}; the dimension is there and has as "
        "many elements, and the step is 1 or more",
        wanted.ToString(), dim, length, step);
  }
  SlicesBody body{};
  body.before = body.behind = 1, body.size = size, body.slices = (size - length) / step + 1;
  body.length = length, body.step = step;
  Shape cut = wanted;
  if (wanted.rank() > 0) cut[static_cast<int>(axis)] = body.slices;
  cut.push_back(length);
  CheckShape(gradient, cut);
  if (out.tensor->empty()) return;
  for (int d = 0; d < wanted.rank(); ++d) {
    if (d < axis) body.before *= wanted[d];
    if (d > axis) body.behind *= wanted[d];
  }
  body.in = {plan, gradient, DType::kF64, false, true}, body.out = {plan, out, DType::kF64, false, false};
  plan.SetCost(100 + static_cast<uint64_t>(gradient.tensor->count() + out.tensor->count()));
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
