// Rows in order, for forms that aclnn does not have.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

struct SortOrder {
  bool descending = false;
  int64_t keep = -1;  // so many of each row; -1: all
  int64_t skip = 0;   // of these the first ones are left out
};

// The first elements of each row along `dim` in their order, and where they were. Equal elements keep
// theirs; NaN counts as the largest. One of the results may be absent (a null tensor).
void PlanSort(Plan& plan, const Operand& self, int64_t dim, const SortOrder& order, const Operand* values,
              const Operand* indices);

}  // namespace belay::ops
