// Blocks of grouped products whose weights are brought into panels.
#pragma once

#include <cstdint>

#include "ops/experts/group_factors.h"
#include "ops/experts/matrix_block.h"
#include "ops/matmul/panels.h"

namespace belay::ops {

// A block of a result; results go to packed rows. `room` holds the rows of a as panels meet them.
struct PanelPart {
  const MatrixPlace& a;
  const PanelPlace& panels;
  const GroupFactors& factors;
  int64_t m, n, depth;
  int64_t a_row, from, column;  // where it begins; `from`: of what is summed over

  void MultiplyFloats(const Frame& frame, float* room, float* to) const;
  // By the factors of the weights. `sums`: of each row and group of factors.
  void MultiplyScaled(const Frame& frame, float* room, float* sums, float* to) const;
  void SumBytes(const Frame& frame, float* room, int32_t* to) const;
};

}  // namespace belay::ops
