// Gradients of functions of one element.
#include <cmath>

#include "ops/gradient/gradient_loops.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rules.h"
#include "ops/sequence.h"
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

namespace {

Tensor HalfOf(const Operand& x, int axis, int64_t half) {
  Tensor view = *x.tensor;
  view.shape[axis] /= 2;
  view.offset += half * view.shape[axis] * view.strides[axis];
  return view;
}

}  // namespace

void SwiGluGrad(Plan& plan, DType compute, const Operand& yGrad, const Operand& x, int64_t dim,
                const Operand& out) {
  CheckShape(yGrad, rules::Halved(x, dim));
  CheckSameType(yGrad, x);
  const int axis = rules::WrapDim(x, dim);
  const Tensor a = HalfOf(x, axis, 0), b = HalfOf(x, axis, 1), to_a = HalfOf(out, axis, 0),
               to_b = HalfOf(out, axis, 1);
  const auto part_of = [](const Tensor& half, const Operand& whole) {
    return Operand{&half, nullptr, whole.binding, whole.name};
  };
  Sequence parts(plan);
  parts.Add([&](Plan& part) {
    PlanPointwise(part, BestGateGradLoops(), compute, {yGrad, part_of(a, x), part_of(b, x)}, {},
                  part_of(to_a, out));
  });
  parts.Add([&](Plan& part) {
    PlanPointwise(part, BestGatedGradLoops(), compute, {yGrad, part_of(a, x)}, {}, part_of(to_b, out));
  });
  parts.Finish();
}

}  // namespace belay::ops::kernels
