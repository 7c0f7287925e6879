// Matrices of floats, or of anything else of four bytes, turned: rows become columns.
#pragma once

#include <cstdint>

namespace belay::ops {

// [batch][rows][columns] to [batch][columns][rows], over the cores.
void TransposeFloats(const float* from, float* to, int64_t batch, int64_t rows, int64_t columns);

}  // namespace belay::ops
