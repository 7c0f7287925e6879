// Places in rows that are in order.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// out = for each value, how many elements of its row of `sorted` are smaller (`right`: or equal). All are
// packed; `sorted` and `values` are of one type, f64 or i64, and have the same rows, or `sorted` is one row.
// out is i64.
void PlanSearchSorted(Plan& plan, const Operand& sorted, const Operand& values, bool right,
                      const Operand& out);

}  // namespace belay::ops
