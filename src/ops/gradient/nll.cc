// aclnn's forms of the negative log likelihood and its gradient.
#include "ops/norm/nll.h"
#include "ops/gradient/checks.h"

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/sequence.h"
#include "tensor/codes.h"

namespace belay::ops::kernels {
namespace {

using tensor::kInvalidArgument;

// self [n, classes, height, width] with target [n, height, width].
void CheckImageLoss(const Operand& self, const Operand& target, const Operand& weight) {
  const Shape shape = self.shape();
  if (shape.rank() != 4) {
    Fail(kInvalidArgument, "op-loss-shape", "{} has shape {}; it is [n, classes, height, width]", self.name,
         shape.ToString());
  }
  CheckShape(target, {shape[0], shape[2], shape[3]});
  CheckShape(weight, {shape[1]});
}

// self [n, classes] with target [n], or [classes] with no dimensions or one element.
void CheckLoss(const Operand& self, const Operand& target, const Operand& weight) {
  const Shape& shape = self.shape();
  if (shape.rank() < 1 || shape.rank() > 2) {
    Fail(kInvalidArgument, "op-loss-shape", "{} has shape {}; it is [rows, classes] or [classes]", self.name,
         shape.ToString());
  }
  if (shape.rank() == 2) CheckShape(target, {shape[0]});
  if (shape.rank() == 1) CheckOne(target);
  CheckShape(weight, {shape[shape.rank() - 1]});
}

// Of what has one value for each row, or one for all.
void CheckLossResult(const Operand& result, const Operand& self, LossReduction reduction) {
  if (reduction == LossReduction::kNone && self.shape().rank() == 2) {
    CheckShape(result, {self.shape()[0]});
  } else {
    CheckOne(result);
  }
}

void CheckImageLossResult(const Operand& result, const Operand& target, LossReduction reduction) {
  reduction == LossReduction::kNone ? CheckShape(result, target.shape()) : CheckOne(result);
}

void PlanGradient(Plan& plan, const NllGradientArgs& args) {
  if (args.out.tensor->empty()) return;
  Sequence parts(plan);
  parts.Add([&](Plan& part) { Zero(part, args.out.dtype(), args.out); });
  parts.Add([&](Plan& part) { PlanNllGradient(part, args); });
  parts.Finish();
}

}  // namespace

void NLLLoss(Plan& plan, DType, const Operand& self, const Operand& target, const Operand& weight,
             int64_t reduction, int64_t ignoreIndex, const Operand& out, const Operand& totalWeight) {
  const LossReduction how = LossReductionOf(reduction);
  CheckLoss(self, target, weight);
  CheckLossResult(out, self, how);
  CheckOne(totalWeight);
  PlanNll(plan, {self, target, weight, out, totalWeight, how, ignoreIndex});
}

void NLLLossBackward(Plan& plan, DType, const Operand& gradOutput, const Operand& self, const Operand& target,
                     const Operand& weight, int64_t reduction, int64_t ignoreIndex,
                     const Operand& totalWeight, const Operand& out) {
  const LossReduction how = LossReductionOf(reduction);
  CheckLoss(self, target, weight);
  CheckLossResult(gradOutput, self, how);
  CheckOne(totalWeight);
  PlanGradient(plan, {gradOutput, target, weight, totalWeight, out, how, ignoreIndex});
}

void NLLLoss2d(Plan& plan, DType, const Operand& self, const Operand& target, const Operand& weight,
               int64_t reduction, int64_t ignoreIndex, const Operand& out, const Operand& totalWeight) {
  const LossReduction how = LossReductionOf(reduction);
  CheckImageLoss(self, target, weight);
  CheckImageLossResult(out, target, how);
  CheckOne(totalWeight);
  PlanNll(plan, {self, target, weight, out, totalWeight, how, ignoreIndex});
}

void NLLLoss2dBackward(Plan& plan, DType, const Operand& gradOutput, const Operand& self,
                       const Operand& target, const Operand& weight, int64_t reduction, int64_t ignoreIndex,
                       const Operand& totalWeight, const Operand& out) {
  const LossReduction how = LossReductionOf(reduction);
  CheckImageLoss(self, target, weight);
  CheckImageLossResult(gradOutput, target, how);
  CheckOne(totalWeight);
  PlanGradient(plan, {gradOutput, target, weight, totalWeight, out, how, ignoreIndex});
}

}  // namespace belay::ops::kernels
