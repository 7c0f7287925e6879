// Matrices that products take as FRACTAL_NZ. Nothing here computes in a card's tiles, so they stay as they
// lie.
#include "base/error.h"
#include "ops/kernels.h"
#include "tensor/codes.h"

namespace belay::ops::kernels {

void TransMatmulWeight(Plan&, DType, const Operand& weight) {
  const int rank = weight.shape().rank();
  if (rank >= 2 && rank <= 6) return;
  Fail(tensor::kInvalidArgument, "op-matrix-shape", "{} has shape {}; a matrix has two to six dimensions",
       weight.name, weight.shape().ToString());
}

}  // namespace belay::ops::kernels
