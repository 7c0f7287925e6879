// Products of integers, exact in i32.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// out = a x b, all i32 and packed: [batch..., m, k] x [batch..., k, n]; batches broadcast as the shape
// of out has them.
void PlanIntegerProduct(Plan& plan, const Operand& a, const Operand& b, const Operand& out);

}  // namespace belay::ops
