// Losses of elements, gradients of losses, and that of a slope that is learnt: operands as packed floats,
// broadcast before they are read.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/elementwise/gradients.h"
#include "ops/gradient/checks.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/rules.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

constexpr int kMostOperands = 5;
// Of elements [begin, end); an input that is not there is null.
using Slopes = void (*)(const float* const* in, float* out, int64_t begin, int64_t end, float scale);

struct ElementBody {
  std::array<PackedFloats, kMostOperands> in;
  PackedFloats out;
  int64_t count = 0;
  float scale = 1;
  Slopes slopes = nullptr;

  void operator()(const Frame& frame) const {
    const float* from[kMostOperands];
    for (size_t i = 0; i < kMostOperands; ++i) from[i] = in[i].Load(frame);
    float* to = out.Begin(frame);
    ParallelFor(count, 16 * 1024, [&](int64_t begin, int64_t end) { slopes(from, to, begin, end, scale); });
    out.Finish(frame);
  }
};

PackedFloats PackedOver(const Operand& operand, const Operand& named, const Shape& shape, Plan& plan) {
  if (!operand.present()) return {};
  if (!BroadcastsTo(operand.shape(), shape)) {
    Fail(kInvalidArgument, "op-broadcast", "{} has the shape {}, which does not broadcast to {} {}",
         operand.name, operand.shape().ToString(), named.name, shape.ToString());
  }
  const tensor::Tensor view = tensor::Expanded(*operand.tensor, shape);
  return PackedFloats({&view, nullptr, operand.binding, operand.name}, Flow::kIn, plan);
}

// All broadcast to the result.
void PlanElements(Plan& plan, std::initializer_list<const Operand*> inputs, const Operand& out, float scale,
                  Slopes slopes) {
  ElementBody body{};
  size_t next = 0;
  for (const Operand* operand : inputs) body.in[next++] = PackedOver(*operand, out, out.shape(), plan);
  if (out.tensor->empty()) return;
  body.out = PackedFloats(out, Flow::kOut, plan);
  body.count = out.tensor->count(), body.scale = scale, body.slopes = slopes;
  plan.SetCost(100 + static_cast<uint64_t>(body.count) * 4);
  plan.SetBody(body);
}

// What the gradient of one element is worth.
float ShareOf(int64_t reduction, int64_t count) {
  const bool mean = LossReductionOf(reduction) == LossReduction::kMean;
  return mean ? 1 / static_cast<float>(std::max<int64_t>(count, 1)) : 1;
}

constexpr int64_t kLossBlock = 1024;             // elements whose losses are computed together
constexpr int64_t kLossPiece = kLossBlock * 16;  // those that one core adds up, whatever the number of cores

// The loss of each element, or the sum of all times a factor.
struct LossBody {
  std::array<PackedFloats, kMostInputs> in;
  PackedFloats weight, out;
  PointwiseLoop loop = nullptr;
  LoopAttributes attributes;
  int64_t count = 0;
  bool summed = false;
  double factor = 1;
  Scratch<double> sums;

  void operator()(const Frame& frame) const {
    const float* from[kMostInputs];
    for (size_t i = 0; i < kMostInputs; ++i) from[i] = in[i].Load(frame);
    const float* weights = weight.Load(frame);
    float* to = out.Begin(frame);
    double* parts = sums.At(frame);
    ParallelFor(Pieces(count), 1, [&](int64_t first, int64_t last) {
      for (int64_t piece = first; piece < last; ++piece) {
        const int64_t begin = piece * kLossPiece, end = std::min(count, begin + kLossPiece);
        const double sum = Losses(from, weights, summed ? nullptr : to, begin, end);
        if (summed) parts[piece] = sum;
      }
    });
    if (summed) to[0] = static_cast<float>(std::accumulate(parts, parts + Pieces(count), 0.0) * factor);
    out.Finish(frame);
  }

  static int64_t Pieces(int64_t count) { return (count + kLossPiece - 1) / kLossPiece; }

  // An operand that is not there is one for all.
  double Losses(const float* const* from, const float* weights, float* to, int64_t begin, int64_t end) const {
    std::array<float, kLossBlock> ones, losses;
    ones.fill(1);
    double sum = 0;
    for (int64_t i = begin; i < end; i += kLossBlock) {
      const int64_t n = std::min(kLossBlock, end - i);
      const void* at[kMostInputs];
      for (size_t k = 0; k < kMostInputs; ++k) at[k] = from[k] == nullptr ? ones.data() : from[k] + i;
      float* const loss = to == nullptr ? losses.data() : to + i;
      loop(loss, at, attributes, n);
      if (weights != nullptr) std::transform(loss, loss + n, weights + i, loss, std::multiplies<float>());
      if (to == nullptr) sum = std::accumulate(loss, loss + n, sum);
    }
    return sum;
  }
};

struct LossOperands {
  const Operand &prediction, &target;
  Operand third = {}, weight = {};
};

void PlanLoss(Plan& plan, const PointwiseLoops& loops, const LossOperands& given, int64_t reduction,
              const Operand& out, std::initializer_list<double> attributes = {}) {
  const LossReduction how = LossReductionOf(reduction);
  const Shape shape = rules::Broadcast(given.prediction, given.target);
  LossBody body{};
  body.summed = how != LossReduction::kNone;
  body.summed ? CheckOne(out) : CheckShape(out, shape);
  body.count = tensor::CountOf(shape);
  const Operand* const inputs[kMostInputs] = {&given.prediction, &given.target, &given.third};
  for (size_t i = 0; i < kMostInputs; ++i) body.in[i] = PackedOver(*inputs[i], given.prediction, shape, plan);
  body.weight = PackedOver(given.weight, given.prediction, shape, plan);
  if (out.tensor->empty()) return;
  body.out = PackedFloats(out, Flow::kOut, plan);
  body.sums = Scratch<double>(plan, body.summed ? LossBody::Pieces(body.count) : 0);
  body.loop = loops.f32;
  body.attributes = LoopAttributes(attributes);
  if (how == LossReduction::kMean) body.factor = 1 / static_cast<double>(body.count);
  plan.SetCost(100 + static_cast<uint64_t>(body.count) * 4);
  plan.SetBody(body);
}

// The loops take what an element's gradient is worth as their first attribute.
void PlanLossGradient(Plan& plan, const PointwiseLoops& loops, DType compute, const LossOperands& given,
                      const Operand& gradient, int64_t reduction, const Operand& out, double attribute = 0) {
  const LoopAttributes attributes({ShareOf(reduction, given.prediction.tensor->count()), attribute});
  PlanPointwise(plan, loops, compute, {given.prediction, given.target, gradient}, attributes, out);
}

void CheckSigma(double sigma) {
  if (sigma >= 0) return;
  Fail(kInvalidArgument, "op-loss-sigma", "sigma is {}; the square ends at 0 or above", sigma);
}

void ProbabilitySlopes(const float* const* in, float* out, int64_t begin, int64_t end, float scale) {
  const float *given = in[0], *x = in[1], *target = in[2], *weight = in[3];
  for (int64_t i = begin; i < end; ++i) {
    const float slope = (x[i] - target[i]) / std::max(x[i] * (1 - x[i]), 1e-12f);
    out[i] = slope * (weight == nullptr ? 1 : weight[i]) * given[i] * scale;
  }
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

void MseLoss(Plan& plan, DType, const Operand& self, const Operand& target, int64_t reduction,
             const Operand& out) {
  PlanLoss(plan, SquaredErrorLoops(), {self, target}, reduction, out);
}

void MseLossBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                     const Operand& target, int64_t reduction, const Operand& out) {
  PlanLossGradient(plan, SquaredErrorGradLoops(), compute, {self, target}, gradOutput, reduction, out);
}

void L1Loss(Plan& plan, DType, const Operand& self, const Operand& target, int64_t reduction,
            const Operand& out) {
  PlanLoss(plan, AbsoluteErrorLoops(), {self, target}, reduction, out);
}

void L1LossBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                    const Operand& target, int64_t reduction, const Operand& out) {
  PlanLossGradient(plan, AbsoluteErrorGradLoops(), compute, {self, target}, gradOutput, reduction, out);
}

void SmoothL1Loss(Plan& plan, DType, const Operand& self, const Operand& target, int64_t reduction,
                  double sigma, const Operand& out) {
  CheckSigma(sigma);
  PlanLoss(plan, SmoothErrorLoops(), {self, target}, reduction, out, {sigma});
}

void SmoothL1LossBackward(Plan& plan, DType compute, const Operand& gradOut, const Operand& self,
                          const Operand& target, int64_t reduction, double sigma, const Operand& out) {
  CheckSigma(sigma);
  PlanLossGradient(plan, SmoothErrorGradLoops(), compute, {self, target}, gradOut, reduction, out, sigma);
}

void SoftMarginLoss(Plan& plan, DType, const Operand& self, const Operand& target, int64_t reduction,
                    const Operand& out) {
  PlanLoss(plan, SoftMarginLoops(), {self, target}, reduction, out);
}

void SoftMarginLossBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                            const Operand& target, int64_t reduction, const Operand& out) {
  PlanLossGradient(plan, SoftMarginGradLoops(), compute, {self, target}, gradOutput, reduction, out);
}

void KlDiv(Plan& plan, DType, const Operand& self, const Operand& target, int64_t reduction, bool logTarget,
           const Operand& out) {
  PlanLoss(plan, logTarget ? LogDivergenceLoops() : DivergenceLoops(), {self, target}, reduction, out);
}

void BinaryCrossEntropy(Plan& plan, DType, const Operand& self, const Operand& target, const Operand& weight,
                        int64_t reduction, const Operand& out) {
  CheckShape(target, self.shape());
  PlanLoss(plan, CrossEntropyLoops(), {self, target, {}, weight}, reduction, out);
}

void BinaryCrossEntropyBackward(Plan& plan, DType, const Operand& gradOutput, const Operand& self,
                                const Operand& target, const Operand& weight, int64_t reduction,
                                const Operand& out) {
  CheckShape(target, self.shape());
  CheckShape(out, self.shape());
  PlanElements(plan, {&gradOutput, &self, &target, &weight}, out, ShareOf(reduction, self.tensor->count()),
               &ProbabilitySlopes);
}

void BinaryCrossEntropyWithLogits(Plan& plan, DType, const Operand& self, const Operand& target,
                                  const Operand& weight, const Operand& posWeight, int64_t reduction,
                                  const Operand& out) {
  CheckShape(target, self.shape());
  PlanLoss(plan, LogitsCrossEntropyLoops(), {self, target, posWeight, weight}, reduction, out);
}

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
  PreluBody body{};
  body.slopes = weight.tensor->count();
  if (shape.rank() > 1) {
    body.outer = shape[0], body.channels = shape[1];
    for (int d = 2; d < shape.rank(); ++d) body.inner *= shape[d];
  } else {
    body.inner = self.tensor->count();
  }
  if (body.slopes != 1 && body.slopes != body.channels) {
    Fail(kInvalidArgument, "op-prelu-weight",
         "{} has {} elements; it has one, or one for each of the {} channels", weight.name, body.slopes,
         body.channels);
  }
  CheckShape(gradOutput, shape);
  CheckShape(gradInput, shape);
  CheckShape(gradWeight, weight.shape());
  body.given = PackedFloats(gradOutput, Flow::kIn, plan);
  body.x = PackedFloats(self, Flow::kIn, plan);
  body.slope = PackedFloats(weight, Flow::kIn, plan);
  body.to_x = PackedFloats(gradInput, Flow::kOut, plan);
  body.to_slope = PackedFloats(gradWeight, Flow::kOut, plan);
  body.sums_at = plan.AddWorkspace(body.channels * 8);
  plan.SetCost(100 + static_cast<uint64_t>(self.tensor->count()) * 2);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
