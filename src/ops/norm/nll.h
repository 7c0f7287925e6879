// The negative log likelihood of given classes and its gradient, as plans.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

enum class LossReduction : uint8_t { kNone, kSum, kMean };

// x is [n, classes, rest...] and target [n, rest...], or x [classes] and target a scalar; weight is [classes]
// or absent. Any strides; x, weight, out and total of float types, target of an integer type. out has the
// shape of target, or one element; total is one element, the sum of the weights, or absent. What is to be
// ignored counts as 0. Throws Error while it runs when a target is no class.
struct NllArgs {
  Operand x, target, weight, out, total;
  LossReduction reduction = LossReduction::kMean;
  int64_t ignored = -100;
};
void PlanNll(Plan& plan, const NllArgs& args);

// out is zero and has the shape of x; at the target of each row it becomes less the weight of that class
// times the gradient, which has the shape of target for kNone and one element otherwise; for kMean divided by
// total, which the others do not look at.
struct NllGradientArgs {
  Operand gradient, target, weight, total, out;
  LossReduction reduction = LossReduction::kMean;
  int64_t ignored = -100;
};
void PlanNllGradient(Plan& plan, const NllGradientArgs& args);

}  // namespace belay::ops
