// The beginning of each sequence of a batch, turned round.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// Of member b the first lengths[b] elements along dimension `seq` in reverse, the rest as they are. `lengths`
// is a vector of I32 or I64 with a number for each index of dimension `batch`, read when the plan runs: a
// number below 0 or above the dimension fails the task.
void PlanReverseSequence(Plan& plan, const Operand& x, const Operand& lengths, const Operand& out, int seq,
                         int batch);

}  // namespace belay::ops
