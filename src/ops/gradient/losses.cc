// Gradients of losses, and of a slope that is learnt: operands as packed floats, broadcast before they are
// read.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/rules.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

constexpr int kMostInputs = 5;
// Of elements [begin, end); an input that is not there is null.
using Slopes = void (*)(const float* const* in, float* out, int64_t begin, int64_t end, float scale);

struct ElementBody {
  std::array<PackedFloats, kMostInputs> in;
  PackedFloats out;
  int64_t count = 0;
  float scale = 1;
  Slopes slopes = nullptr;

  void operator()(const Frame& frame) const {
    const float* from[kMostInputs];
    for (size_t i = 0; i < kMostInputs; ++i) from[i] = in[i].Load(frame);
    float* to = out.Begin(frame);
    ParallelFor(count, 16 * 1024, [&](int64_t begin, int64_t end) { slopes(from, to, begin, end, scale); });
    out.Finish(frame);
  }
};

tensor::Tensor Expanded(const Operand& operand, const Shape& shape) {
  tensor::Tensor view = *operand.tensor;
  view.strides = Shape::Of(shape.data(), shape.rank());
  for (int d = 0; d < shape.rank(); ++d) {
    const bool repeats = d >= operand.shape().rank() || operand.shape().back(d) == 1;
    view.strides.back(d) = repeats ? 0 : operand.tensor->strides.back(d);
  }
  view.shape = shape;
  return view;
}

// All broadcast to the result.
void PlanElements(Plan& plan, std::initializer_list<const Operand*> inputs, const Operand& out, float scale,
                  Slopes slopes) {
  auto body = std::make_shared<ElementBody>();
  size_t next = 0;
  for (const Operand* operand : inputs) {
    if (operand->present()) {
      if (!BroadcastsTo(operand->shape(), out.shape())) {
        Fail(kInvalidArgument, "op-broadcast", "{} has the shape {}, which does not broadcast to {} {}",
             operand->name, operand->shape().ToString(), out.name, out.shape().ToString());
      }
      const tensor::Tensor view = Expanded(*operand, out.shape());
      body->in[next] = PackedFloats({&view, nullptr, operand->binding, operand->name}, Flow::kIn, plan);
    }
    ++next;
  }
  if (out.tensor->empty()) return;
  body->out = PackedFloats(out, Flow::kOut, plan);
  body->count = out.tensor->count(), body->scale = scale, body->slopes = slopes;
  plan.SetCost(100 + static_cast<uint64_t>(body->count) * 4);
  plan.SetBody(
      [body = std::shared_ptr<const ElementBody>(std::move(body))](const Frame& frame) { (*body)(frame); });
}

// What the gradient of one element is worth, by the reduction: 0 none, 1 mean, 2 sum.
float ShareOf(int64_t reduction, int64_t count) {
  if (reduction < 0 || reduction > 2) {
    Fail(kInvalidArgument, "op-loss-reduction", "reduction is {}; it is 0 (none), 1 (mean) or 2 (sum)",
         reduction);
  }
  return reduction == 1 ? 1 / static_cast<float>(std::max<int64_t>(count, 1)) : 1;
}

void CrossEntropySlopes(const float* const* in, float* out, int64_t begin, int64_t end, float scale) {
  const float *given = in[0], *x = in[1], *target = in[2], *weight = in[3], *positive = in[4];
  for (int64_t i = begin; i < end; ++i) {
    const float probability = 1 / (1 + std::exp(-x[i])), t = target[i],
                p = positive == nullptr ? t : positive[i] * t;
    const float slope = (p + 1 - t) * probability - p;
    out[i] = slope * (weight == nullptr ? 1 : weight[i]) * given[i] * scale;
  }
}

void KlTargetSlopes(const float* const* in, float* out, int64_t begin, int64_t end, float scale) {
  const float *given = in[0], *x = in[1], *target = in[2];
  for (int64_t i = begin; i < end; ++i) {
    out[i] = target[i] == 0 ? 0 : given[i] * (std::log(target[i]) + 1 - x[i]) * scale;
  }
}

void KlLogTargetSlopes(const float* const* in, float* out, int64_t begin, int64_t end, float scale) {
  const float *given = in[0], *x = in[1], *target = in[2];
  for (int64_t i = begin; i < end; ++i)
    out[i] = given[i] * (target[i] + 1 - x[i]) * std::exp(target[i]) * scale;
}

struct PreluBody {
  PackedFloats given, x, slope, to_x, to_slope;
  int64_t outer = 1, channels = 1, inner = 1, slopes = 1;
  int64_t sums_at = 0;

  void operator()(const Frame& frame) const {
    const float *g = given.Load(frame), *from = x.Load(frame), *w = slope.Load(frame);
    float *to = to_x.Begin(frame), *weights = to_slope.Begin(frame);
    auto* sums = reinterpret_cast<double*>(frame.workspace + sums_at);
    ParallelFor(channels, 1 + 16 * 1024 / (outer * inner + 1), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) sums[c] = Channel(g, from, slopes == 1 ? w[0] : w[c], to, c);
    });
    if (slopes == 1) {
      double sum = 0;
      for (int64_t c = 0; c < channels; ++c) sum += sums[c];
      weights[0] = static_cast<float>(sum);
    } else {
      for (int64_t c = 0; c < channels; ++c) weights[c] = static_cast<float>(sums[c]);
    }
    to_x.Finish(frame);
    to_slope.Finish(frame);
  }

  // The gradient of the slope.
  double Channel(const float* g, const float* from, float w, float* to, int64_t c) const {
    double sum = 0;
    for (int64_t n = 0; n < outer; ++n) {
      const int64_t first = (n * channels + c) * inner;
      for (int64_t i = first; i < first + inner; ++i) {
        const bool above = from[i] > 0;
        to[i] = above ? g[i] : w * g[i];
        if (!above) sum += static_cast<double>(from[i]) * static_cast<double>(g[i]);
      }
    }
    return sum;
  }
};

}  // namespace

namespace kernels {

void BinaryCrossEntropyWithLogitsBackward(Plan& plan, DType, const Operand& gradOutput, const Operand& self,
                                          const Operand& target, const Operand& weight,
                                          const Operand& posWeight, int64_t reduction, const Operand& out) {
  CheckShape(target, self.shape());
  CheckShape(out, self.shape());
  PlanElements(plan, {&gradOutput, &self, &target, &weight, &posWeight}, out,
               ShareOf(reduction, self.tensor->count()), &CrossEntropySlopes);
}

void KlDivTargetBackward(Plan& plan, DType, const Operand& gradOutput, const Operand& self,
                         const Operand& target, int64_t reduction, bool logTarget, const Operand& out) {
  CheckShape(out, target.shape());
  PlanElements(plan, {&gradOutput, &self, &target}, out, ShareOf(reduction, target.tensor->count()),
               logTarget ? &KlLogTargetSlopes : &KlTargetSlopes);
}

void PreluBackward(Plan& plan, DType, const Operand& gradOutput, const Operand& self, const Operand& weight,
                   const Operand& gradInput, const Operand& gradWeight) {
  const Shape& shape = self.shape();
  auto body = std::make_shared<PreluBody>();
  body->slopes = weight.tensor->count();
  if (shape.rank() > 1) {
    body->outer = shape[0], body->channels = shape[1];
    for (int d = 2; d < shape.rank(); ++d) body->inner *= shape[d];
  } else {
    body->inner = self.tensor->count();
  }
  if (body->slopes != 1 && body->slopes != body->channels) {
    Fail(kInvalidArgument, "op-prelu-weight",
         "{} has {} elements; it has one, or one for each of the {} channels", weight.name, body->slopes,
         body->channels);
  }
  CheckShape(gradOutput, shape);
  CheckShape(gradInput, shape);
  CheckShape(gradWeight, weight.shape());
  body->given = PackedFloats(gradOutput, Flow::kIn, plan);
  body->x = PackedFloats(self, Flow::kIn, plan);
  body->slope = PackedFloats(weight, Flow::kIn, plan);
  body->to_x = PackedFloats(gradInput, Flow::kOut, plan);
  body->to_slope = PackedFloats(gradWeight, Flow::kOut, plan);
  body->sums_at = plan.AddWorkspace(body->channels * 8);
  plan.SetCost(100 + static_cast<uint64_t>(self.tensor->count()) * 2);
  plan.SetBody(
      [body = std::shared_ptr<const PreluBody>(std::move(body))](const Frame& frame) { (*body)(frame); });
}

}  // namespace kernels
}  // namespace belay::ops
