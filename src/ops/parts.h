// Complex operands whose real parts and imaginary ones are planned each on their own.
#pragma once

#include "ops/layout/checks.h"
#include "ops/sequence.h"
#include "tensor/views.h"

namespace belay::ops {

// plan_part(part, its type, self, out)
template <class PlanPart>
void OverParts(Plan& plan, const Operand& self, const Operand& out, const PlanPart& plan_part) {
  CheckSameType(self, out);
  Sequence parts(plan);
  for (int i = 0; i < 2; ++i) {
    const Tensor from = tensor::PartsOf(*self.tensor, i), to = tensor::PartsOf(*out.tensor, i);
    parts.Add([&](Plan& part) {
      plan_part(part, to.dtype, Operand{&from, nullptr, self.binding, self.name},
                Operand{&to, nullptr, out.binding, out.name});
    });
  }
  parts.Finish();
}

}  // namespace belay::ops
