#include "ops/matmul/matrix_view.h"

namespace belay::ops {

using tensor::Shape;
using tensor::Tensor;

MatrixView ViewOf(const Tensor& t, VectorIs vector) {
  int rank = t.shape.rank();
  MatrixView view{};
  if (rank == 1 && vector == VectorIs::kRow) {
    view = {1, t.shape[0], 0, t.strides[0], {}, {}};
  } else if (rank == 1) {
    view = {t.shape[0], 1, t.strides[0], 0, {}, {}};
  } else {
    view = {t.shape.back(1), t.shape.back(0), t.strides.back(1), t.strides.back(0), {}, {}};
    view.batch = Shape::Of(t.shape.data(), rank - 2);
    view.batch_strides = Shape::Of(t.strides.data(), rank - 2);
  }
  return view;
}

// The result lacks the dimension that a vector operand lacks.
MatrixView ResultView(const Tensor& out, bool row_missing, bool column_missing) {
  Tensor full = out;
  if (column_missing) full.shape.push_back(1), full.strides.push_back(0);
  if (row_missing) {
    Shape shape, strides;
    for (int i = 0; i < full.shape.rank(); ++i) {
      if (i == full.shape.rank() - 1) shape.push_back(1), strides.push_back(0);
      shape.push_back(full.shape[i]);
      strides.push_back(full.strides[i]);
    }
    full.shape = shape;
    full.strides = strides;
  }
  return ViewOf(full, VectorIs::kRow);
}

}  // namespace belay::ops
