// A matrix of small integers, of which eight of four bits may lie in each INT32.
#pragma once

#include <cstdint>
#include <utility>

#include "ops/schema.h"

namespace belay::ops {

// The matrix as it is multiplied, whatever is packed (along the dimension that is `packed_from_behind`) or
// transposed.
struct Factor {
  Tensor tensor;
  Factor(const Operand& operand, bool transposed, int packed_from_behind);
  int64_t rows() const { return tensor.shape.back(1); }
  int64_t columns() const { return tensor.shape.back(0); }
};

// INT32 is packed along the dimension whose neighbours lie side by side, of which there may seem to be two.
// columns of -1: whatever there are. Throws Error 161002 where the matrix has another size.
Factor FactorOf(const Operand& operand, bool transposed, int64_t rows, int64_t columns);

}  // namespace belay::ops
