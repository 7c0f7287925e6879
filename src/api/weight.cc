// Memory for matrices that aclnnTransMatmulWeight arranges. They stay as they lie, but programs allocate what
// a card would need.
#include "api/handlers.h"
#include "base/error.h"
#include "tensor/codes.h"
#include "tensor/objects.h"

namespace belay::api {

void aclnnCalculateMatmulWeightSizeV2(const tensor::IntArray& shape, aclDataType type, uint64_t* elements) {
  constexpr int64_t kTile = 16, kTileOfBytes = 32;
  const auto dtype = static_cast<tensor::DType>(type);
  const bool bytes = dtype == tensor::DType::kI8;
  if (!bytes && dtype != tensor::DType::kF16 && dtype != tensor::DType::kBF16 &&
      dtype != tensor::DType::kF32) {
    Fail(tensor::kInvalidArgument, "op-dtype",
         "dataType is {}; matrices are ACL_FLOAT16, ACL_BF16, ACL_FLOAT or ACL_INT8", static_cast<int>(type));
  }
  if (shape.items.size() != 2 || shape.items[0] < 0 || shape.items[1] < 0) {
    Fail(tensor::kInvalidArgument, "op-matrix-shape", "tensorShape has {} numbers; it holds two sizes",
         shape.items.size());
  }
  const auto to_tiles = [](int64_t size, int64_t tile) {
    return static_cast<uint64_t>(size) + static_cast<uint64_t>((tile - size % tile) % tile);
  };
  const uint64_t rows = to_tiles(shape.items[0], kTile);
  const uint64_t columns = to_tiles(shape.items[1], bytes ? kTileOfBytes : kTile);
  if (__builtin_mul_overflow(rows, columns, elements)) {
    Fail(tensor::kInvalidArgument, "tensor-too-large", "a matrix of {} x {} does not fit in 64 bits", rows,
         columns);
  }
}

}  // namespace belay::api
