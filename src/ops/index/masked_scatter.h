// Elements in the places that a mask chooses.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// out = x with the updates, one after another, where mask holds. All are packed; mask has the shape of x.
// Throws Error while it runs when there are too few updates.
void PlanMaskedScatter(Plan& plan, const Operand& x, const Operand& mask, const Operand& updates,
                       const Operand& out);

}  // namespace belay::ops
