// What the functions should compute, by the slow twins of the kernels.
#pragma once

#include "case.h"

namespace belay::cases {

// Fills the written tensors of `c`, whose tensors have host memory.
void ComputeExpected(const Case& c);

}  // namespace belay::cases
