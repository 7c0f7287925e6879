// Ones on a diagonal.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// out[i, i + diagonal] = 1, the rest 0.
void DiagonalOnes(Plan& plan, int64_t height, int64_t width, int64_t diagonal, const Operand& out);

}  // namespace belay::ops
