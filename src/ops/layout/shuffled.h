// Copies whose result is packed while the source is scattered: a block of the result at a time.
#pragma once

#include "ops/layout/moved_axes.h"
#include "ops/schema.h"

namespace belay::ops {

// What lies where, in bytes.
struct MovedBytes {
  int64_t element;
  int64_t out_offset, in_offset;  // of the first elements
  int out_binding, in_binding;
  const char* fill;     // an element of those without a source; null: zero
  bool truths = false;  // what is not 0 becomes 1
};

// Makes a plan and returns true where blocks of the innermost axes are better put together than moved by
// runs.
bool PlanShuffled(Plan& plan, const MovedAxes& moved, const MovedBytes& bytes);

// A copy of `src` over `out`, which has the same shape and type. Truth values are 0 and 1 then.
bool PlanShuffledCopy(Plan& plan, const Operand& src, const Operand& out);

}  // namespace belay::ops
