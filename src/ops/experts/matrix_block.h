// Blocks of matrices of any type and strides as a product of floats takes them.
#pragma once

#include <cstdint>

#include "ops/matmul/gemm.h"
#include "ops/pipeline.h"
#include "ops/schema.h"

namespace belay::ops {

// A matrix in a tensor. Steps are bytes.
struct MatrixPlace {
  int binding = -1;
  DType type = DType::kUndefined;
  int64_t at = 0, rows = 0, columns = 0, row = 0, column = 0;

  MatrixPlace() = default;
  // The last two dimensions, at an index of those before.
  MatrixPlace(const Operand& operand, int64_t index);

  // Whether a product may write to it.
  bool TakesProducts() const {
    return type == DType::kF32 && column == kFloat && row % kFloat == 0 &&
           (rows <= 1 || row >= columns * kFloat);
  }
  // Whether each of its blocks lies as a product takes it.
  bool LiesReady() const {
    return type == DType::kF32 && row % kFloat == 0 && column % kFloat == 0 &&
           ((column == kFloat && row >= columns * kFloat) || (row == kFloat && column >= rows * kFloat));
  }
  char* Of(const Frame& frame, int64_t r, int64_t c) const {
    return frame.at[binding] + at + r * row + c * column;
  }

  // Rows [r, r + n) of columns [c, c + m): where they lie, or copied to `buffer`.
  GemmMatrix Block(const Frame& frame, int64_t r, int64_t n, int64_t c, int64_t m, float* buffer) const;

  static constexpr int64_t kFloat = sizeof(float);
};

// A product of floats, of a row as well. Fails where no backend takes it.
void MultiplyFloats(const Gemm& gemm);

}  // namespace belay::ops
