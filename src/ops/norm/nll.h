// The negative log likelihood of given classes, as a plan.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

enum class LossReduction : uint8_t { kNone, kSum, kMean };

// x is [n, classes, rest...], target [n, rest...], weight [classes] or absent; packed, x and weight of f32,
// target of i64. out has the shape of target, or is a scalar; total is the scalar sum of the weights, or
// absent. What is to be ignored counts as 0. Throws Error while it runs when a target is no class.
struct NllArgs {
  Operand x, target, weight, out, total;
  LossReduction reduction = LossReduction::kMean;
  int64_t ignored = -100;
};
void PlanNll(Plan& plan, const NllArgs& args);

}  // namespace belay::ops
