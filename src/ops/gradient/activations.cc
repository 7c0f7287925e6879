// Gradients of functions of one element.
#include <cmath>

#include "ops/gradient/gradient_loops.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "tensor/convert.h"

namespace belay::ops::kernels {

void SiluBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                  const Operand& out) {
  CheckShape(gradOutput, self.shape());
  PlanPointwise(plan, BestSiluGradLoops(), compute, {gradOutput, self}, {}, out);
}

void GeluBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                  const Operand& out) {
  PlanPointwise(plan, BestGeluGradLoops(), compute, {gradOutput, self}, {}, out);
}

void ThresholdBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                       const Scalar& threshold, const Operand& out) {
  LoopAttributes limit({threshold.ToDouble()});
  // What exceeds 2.5 among integers exceeds 2, and what exceeds -0.5 exceeds -1.
  limit.integer[0] = tensor::ToInteger(std::floor(limit.real[0]));
  PlanPointwise(plan, BestThresholdGradLoops(), compute, {gradOutput, self}, limit, out);
}

}  // namespace belay::ops::kernels
