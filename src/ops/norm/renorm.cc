// Parts of a tensor that are shortened to a norm.
#include "base/error.h"
#include "ops/elementwise/gradients.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {

// The factors of the parts come between, in the type in which all is computed.
void Renorm(Plan& plan, DType, const Operand& self, const Scalar& p, int64_t dim, const Scalar& most,
            const Operand& out) {
  const int kept = rules::WrapDim(self, dim), rank = self.shape().rank();
  if (!(p.ToDouble() > 0) || !(most.ToDouble() >= 0)) {
    Fail(tensor::kInvalidArgument, "op-renorm",
         "p is {} and maxNorm {}; p is above 0, and maxNorm not below it", p.ToDouble(), most.ToDouble());
  }
  if (out.tensor->empty()) return;
  const DType wide = ComputeType(self.dtype());
  Shape left = Shape::Filled(rank, 1);
  if (rank > 0) left[kept] = self.shape()[kept];
  uint32_t others = ((1u << rank) - 1) & ~(1u << kept);
  std::vector<int64_t> dims;
  for (int d = 0; d < rank; ++d) {
    if ((others >> d & 1) != 0) dims.push_back(d);
  }
  PlanThrough(
      plan, tensor::PackedOf(wide, left), {&self}, out,
      [&](Plan& part, const auto& in, const Operand& factor) {
        Sequence steps(part);
        steps.Add([&](Plan& step) {
          // Parts of one element have no dimension to fold.
          if (dims.empty()) return Abs(step, wide, in[0], factor);
          VectorNorm(step, wide, in[0], p, dims, true, wide, factor);
        });
        steps.Add([&](Plan& step) {
          PlanPointwise(step, ShorteningLoops(), wide, {factor}, LoopAttributes({most.ToDouble()}), factor);
        });
        steps.Finish();
      },
      [&](Plan& part, const auto& in, const Operand& factor, const Operand& to) {
        Mul(part, wide, in[0], factor, to);
      });
  plan.MayLieOn(self.binding);
}

}  // namespace belay::ops::kernels
