// Classes drawn as often as their weights say.
#pragma once

#include "ops/random/random.h"

namespace belay::ops {

// out (i64) = so many classes for each row of `weights` (f64), which need not add up to 1; `again`: a class
// may be drawn more than once. Both are packed, with one dimension or two. Throws Error while it runs where
// fewer classes have a weight than are to be drawn.
void PlanWeighted(Plan& plan, const Operand& weights, bool again, const RandomSource& source,
                  const Operand& out);

}  // namespace belay::ops
