// Stretches of an axis that become one value.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// out is x, which is packed as out is, but in places first[i, j] to end[i, j] of the axis (i64 [n, m],
// packed), where it is value i: of row j where `of_row`, a place of dimension 0, else of all. What lies
// beyond the axis is left out, and the last of several values counts.
struct FilledRangesArgs {
  Operand x, first, end, values, out;
  int axis;
  bool of_row;
};
void PlanFilledRanges(Plan& plan, const FilledRangesArgs& args);

}  // namespace belay::ops
