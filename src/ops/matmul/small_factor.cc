#include "ops/matmul/small_factor.h"

#include "base/error.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

// Eight elements of four bits in each INT32 become as many of their own, along dimension `packed`.
Tensor Nibbles(const Tensor& t, int packed) {
  Tensor wide = t;
  wide.dtype = DType::kI4;
  wide.offset *= 8;
  for (int d = 0; d < wide.shape.rank(); ++d) {
    if (d != packed) wide.strides[d] *= 8;
  }
  wide.shape[packed] *= 8;
  return wide;
}

}  // namespace

Factor::Factor(const Operand& operand, bool transposed, int packed_from_behind) : tensor(*operand.tensor) {
  const int rank = tensor.shape.rank();
  if (tensor.dtype == DType::kI32) tensor = Nibbles(tensor, rank - packed_from_behind);
  if (!transposed) return;
  std::swap(tensor.shape[rank - 1], tensor.shape[rank - 2]);
  std::swap(tensor.strides[rank - 1], tensor.strides[rank - 2]);
}

Factor FactorOf(const Operand& operand, bool transposed, int64_t rows, int64_t columns) {
  for (int from_behind : {1, 2}) {
    const Factor factor(operand, transposed, from_behind);
    const Tensor& t = *operand.tensor;
    const bool lies = t.dtype != DType::kI32 || t.strides.back(from_behind - 1) == 1;
    if (lies && factor.rows() == rows && (columns < 0 || factor.columns() == columns)) return factor;
  }
  Fail(
      tensor::kInvalidArgument, "op-matrix-shape",
      "{} has shape {}, which does not fit the other matrix and out; INT32 holds eight numbers each, along the "
      "dimension without gaps",
      operand.name, operand.shape().ToString());
}

}  // namespace belay::ops
