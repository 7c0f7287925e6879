// Tensors as batches of matrices.
#pragma once

#include <cstdint>

#include "tensor/objects.h"

namespace belay::ops {

// The last two dimensions of a tensor as a matrix, and the ones before as batches.
struct MatrixView {
  int64_t rows, columns;
  int64_t row_stride, column_stride;  // elements
  tensor::Shape batch, batch_strides;
};

enum class VectorIs : uint8_t { kRow, kColumn };

MatrixView ViewOf(const tensor::Tensor& t, VectorIs vector);

// The result lacks the dimension that a vector operand lacks.
MatrixView ResultView(const tensor::Tensor& out, bool row_missing, bool column_missing);

}  // namespace belay::ops
