// Counting elements by value. Tensors are packed.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// out[i] (f64): how many elements of x (f64) lie in part i of [low, high]. Of equal bounds, those of x are
// taken.
void PlanHistogram(Plan& plan, const Operand& x, double low, double high, const Operand& out);
// out[i] (f64): the weights (f64, or absent: 1) of the elements of x (i64) that are i. Others do not count,
// or, where all must, throw Error while it runs.
void PlanBincount(Plan& plan, const Operand& x, const Operand& weights, const Operand& out,
                  bool all_count = false);

}  // namespace belay::ops
