// Complex numbers from their sizes and angles.
#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {

void Polar(Plan& plan, DType, const Operand& input, const Operand& angle, const Operand& out) {
  CheckSameType(input, angle);
  const DType type = input.dtype(), wide = type == DType::kF16 ? DType::kF32 : type;
  const Tensor parts[] = {tensor::PartsOf(*out.tensor, 0), tensor::PartsOf(*out.tensor, 1)};
  if (parts[0].dtype != type) {
    Fail(tensor::kInvalidArgument, "op-same-type", "{} is {} and {} is {}; its parts are {}", input.name,
         NameOf(type), out.name, NameOf(out.dtype()), NameOf(parts[0].dtype));
  }
  if (out.tensor->empty()) return;
  Sequence steps(plan);
  for (const Tensor& part : parts) {
    const auto turned = &part == parts ? Cos : Sin;
    steps.Add([&](Plan& step) {
      PlanThrough(
          step, tensor::PackedOf(wide, angle.shape()), {&input, &angle},
          {&part, nullptr, out.binding, out.name},
          [&](Plan& own, const auto& in, const Operand& between) { turned(own, wide, in[1], between); },
          [&](Plan& own, const auto& in, const Operand& between, const Operand& to) {
            Mul(own, wide, in[0], between, to);
          });
    });
  }
  steps.Finish();
}

}  // namespace belay::ops::kernels
