// Products of types that no library here multiplies: integers, which wrap, and f64.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// out = a x b, packed and all of one type, f64 or whole numbers of four or eight bytes, whose sums wrap:
// [batch..., m, k] x [batch..., k, n]; batches broadcast as the shape of out has them, and a vector is a row
// or a column.
void PlanExactProduct(Plan& plan, const Operand& a, const Operand& b, const Operand& out);

}  // namespace belay::ops
