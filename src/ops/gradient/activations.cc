// Gradients of functions of one element.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "ops/elementwise/gradients.h"
#include "ops/gradient/checks.h"
#include "ops/gradient/gradient_loops.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rules.h"
#include "ops/sequence.h"
#include "tensor/codes.h"
#include "tensor/convert.h"
#include "tensor/views.h"

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

void GeluBackwardV2(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                    const char* approximate, const Operand& out) {
  const std::string_view name = approximate == nullptr ? "" : approximate;
  if (name != "none" && name != "tanh")
    Fail(tensor::kInvalidArgument, "op-approximate", "approximate is \"{}\"; it is none or tanh", name);
  PlanPointwise(plan, name == "tanh" ? BestGeluTanhGradLoops() : BestGeluGradLoops(), compute,
                {gradOutput, self}, {}, out);
}

void ThresholdBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                       const Scalar& threshold, const Operand& out) {
  LoopAttributes limit({threshold.ToDouble()});
  // What exceeds 2.5 among integers exceeds 2, and what exceeds -0.5 exceeds -1.
  limit.integer[0] = tensor::ToInteger(std::floor(limit.real[0]));
  PlanPointwise(plan, BestThresholdGradLoops(), compute, {gradOutput, self}, limit, out);
}

void SigmoidBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& output,
                     const Operand& out) {
  CheckShape(gradOutput, output.shape());
  PlanPointwise(plan, SigmoidGradLoops(), compute, {output, gradOutput}, {}, out);
}

void TanhBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& output,
                  const Operand& out) {
  PlanPointwise(plan, TanhGradLoops(), compute, {output, gradOutput}, {}, out);
}

namespace {

// Only a function that keeps the sign can be told from its result: on which side of 0 its operand was.
void CheckKeepsSign(const char* name, const Scalar& factor, bool of_result) {
  const double value = factor.ToDouble();
  if (of_result && !(value >= 0)) {
    Fail(tensor::kInvalidArgument, "op-gradient-of-result",
         "{} is {}; it is 0 or more where the gradient is computed from the function's result", name, value);
  }
}

}  // namespace

void LeakyReluBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                       const Scalar& negativeSlope, bool selfIsResult, const Operand& out) {
  CheckKeepsSign("negativeSlope", negativeSlope, selfIsResult);
  PlanPointwise(plan, LeakyReluGradLoops(), compute, {gradOutput, self}, LoopAttributes({&negativeSlope}),
                out);
}

void EluBackward(Plan& plan, DType compute, const Operand& gradOutput, const Scalar& alpha,
                 const Scalar& scale, const Scalar& inputScale, bool isResult, const Operand& selfOrResult,
                 const Operand& out) {
  CheckShape(gradOutput, selfOrResult.shape());
  CheckKeepsSign("alpha", alpha, isResult);
  PlanPointwise(plan, isResult ? EluGradOfResultLoops() : EluGradLoops(), compute, {gradOutput, selfOrResult},
                LoopAttributes({&alpha, &scale, &inputScale}), out);
}

void HardsigmoidBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                         const Operand& out) {
  CheckShape(gradOutput, self.shape());
  PlanPointwise(plan, HardSigmoidGradLoops(), compute, {gradOutput, self}, LoopAttributes({1.0 / 6, 0.5}),
                out);
}

void HardswishBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                       const Operand& out) {
  CheckShape(gradOutput, self.shape());
  PlanPointwise(plan, HardSwishGradLoops(), compute, {gradOutput, self}, {}, out);
}

void FastGeluBackward(Plan& plan, DType compute, const Operand& grad, const Operand& self,
                      const Operand& out) {
  CheckShape(grad, self.shape());
  PlanPointwise(plan, SwishGradLoops(), compute, {grad, self}, LoopAttributes({1.702}), out);
}

void LogitGrad(Plan& plan, DType compute, const Operand& x, const Operand& dy, double eps,
               const Operand& out) {
  CheckShape(dy, x.shape());
  PlanPointwise(plan, LogitGradLoops(), compute, {dy, x}, LoopAttributes({eps}), out);
}

void HardtanhBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                      const Scalar& minVal, const Scalar& maxVal, const Operand& out) {
  CheckShape(gradOutput, self.shape());
  PlanPointwise(plan, HardtanhGradLoops(), compute, {self, gradOutput}, LoopAttributes({&minVal, &maxVal}),
                out);
}

void MishBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                  const Operand& out) {
  CheckShape(gradOutput, self.shape());
  PlanPointwise(plan, MishGradLoops(), compute, {gradOutput, self}, {}, out);
}

void ShrinkBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                    const Scalar& lambd, const Operand& out) {
  CheckShape(gradOutput, self.shape());
  PlanPointwise(plan, ShrinkGradLoops(), compute, {gradOutput, self}, LoopAttributes({&lambd}), out);
}

void SoftplusBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                      const Scalar& beta, const Scalar& threshold, const Operand& out) {
  CheckShape(gradOutput, self.shape());
  PlanPointwise(plan, SoftplusGradLoops(), compute, {gradOutput, self}, LoopAttributes({&beta, &threshold}),
                out);
}

void LogSigmoidBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                        const Operand& /*buffer*/, const Operand& out) {
  CheckShape(gradOutput, self.shape());
  PlanPointwise(plan, LogSigmoidGradLoops(), compute, {gradOutput, self}, {}, out);
}

void KlDivBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                   const Operand& target, int64_t reduction, bool logTarget, const Operand& out) {
  const bool mean = LossReductionOf(reduction) == LossReduction::kMean;
  const auto count = static_cast<double>(std::max<int64_t>(self.tensor->count(), 1));
  const LoopAttributes share({mean ? 1 / count : 1});
  PlanPointwise(plan, logTarget ? LogDivergenceGradLoops() : DivergenceGradLoops(), compute,
                {gradOutput, target}, share, out);
}

namespace {

// A half of an operand as an operand, which may not be copied.
struct HalfOperand {
  Tensor view;
  Operand operand;

  HalfOperand(const Operand& whole, int axis, int64_t half)
      : view(tensor::HalfOf(*whole.tensor, axis, half)), operand{&view, nullptr, whole.binding, whole.name} {}
  HalfOperand(const HalfOperand&) = delete;
  HalfOperand& operator=(const HalfOperand&) = delete;
};

}  // namespace

void SwiGluGrad(Plan& plan, DType compute, const Operand& yGrad, const Operand& x, int64_t dim,
                const Operand& out) {
  CheckShape(yGrad, rules::Halved(x, dim));
  CheckSameType(yGrad, x);
  const int axis = rules::WrapDim(x, dim);
  const HalfOperand active(x, axis, 0), gate(x, axis, 1), to_active(out, axis, 0), to_gate(out, axis, 1);
  Sequence parts(plan);
  parts.Add([&](Plan& part) {
    PlanPointwise(part, BestGateGradLoops(), compute, {yGrad, active.operand, gate.operand}, {},
                  to_active.operand);
  });
  parts.Add([&](Plan& part) {
    PlanPointwise(part, BestGatedGradLoops(), compute, {yGrad, active.operand}, {}, to_gate.operand);
  });
  parts.Finish();
}

void GeGluBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                   const Operand& gelu, int64_t dim, int64_t approximate, bool activateLeft,
                   const Operand& out) {
  const Shape half = rules::Halved(self, dim);
  for (const Operand* o : {&gradOutput, &gelu}) {
    CheckShape(*o, half);
    CheckSameType(*o, self);
  }
  if (approximate != 0 && approximate != 1)
    Fail(tensor::kInvalidArgument, "op-approximate", "approximate is {}; it is 0 (none) or 1 (tanh)",
         approximate);
  const int axis = rules::WrapDim(self, dim), left = activateLeft ? 0 : 1;
  const HalfOperand active(self, axis, left), gate(self, axis, 1 - left), to_active(out, axis, left),
      to_gate(out, axis, 1 - left);
  Sequence parts(plan);
  parts.Add([&](Plan& part) {
    PlanPointwise(part, approximate == 1 ? BestGeluTanhGateGradLoops() : BestGeluGateGradLoops(), compute,
                  {gradOutput, active.operand, gate.operand}, {}, to_active.operand);
  });
  parts.Add([&](Plan& part) {
    PlanPointwise(part, BestProductLoops(), compute, {gradOutput, gelu}, {}, to_gate.operand);
  });
  parts.Finish();
}

void RightGeGluBackward(Plan& plan, DType compute, const Operand& gradOutput, const Operand& self,
                        const Operand& gelu, int64_t dim, int64_t approximate, const Operand& out) {
  if (approximate != 1)
    Fail(tensor::kInvalidArgument, "op-approximate", "approximate is {}; it is 1 (tanh)", approximate);
  GeGluBackward(plan, compute, gradOutput, self, gelu, dim, approximate, false, out);
}

void GluBackward(Plan& plan, DType compute, const Operand& gradOut, const Operand& self, int64_t dim,
                 const Operand& out) {
  CheckShape(gradOut, rules::Halved(self, dim));
  CheckSameType(gradOut, self);
  const int axis = rules::WrapDim(self, dim);
  const HalfOperand gated(self, axis, 0), gate(self, axis, 1), to_gated(out, axis, 0), to_gate(out, axis, 1);
  Sequence parts(plan);
  parts.Add([&](Plan& part) {
    PlanPointwise(part, GatedLoops(), compute, {gradOut, gate.operand}, {}, to_gated.operand);
  });
  parts.Add([&](Plan& part) {
    PlanPointwise(part, GatedGradLoops(), compute, {gradOut, gated.operand, gate.operand}, {},
                  to_gate.operand);
  });
  parts.Finish();
}

}  // namespace belay::ops::kernels
