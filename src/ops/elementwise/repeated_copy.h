// Copies of a tensor onto a larger shape, whole blocks at a time.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// out = src, which has the type of `out` and repeats along some of its dimensions: what repeats is written
// once and copied from there. False: nothing repeats, or rows are long as it is.
bool PlanRepeatedCopy(Plan& plan, const Operand& src, const Operand& out);

}  // namespace belay::ops
