// How much memory a matrix takes that is arranged for products: in tiles by aclnnNpuFormatCast, or by
// aclnnTransMatmulWeight, which leaves it as it lies, but programs allocate what a card would need.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "api/handlers.h"
#include "base/error.h"
#include "ops/matmul/tiles.h"
#include "ops/tiled.h"
#include "tensor/codes.h"
#include "tensor/objects.h"

namespace belay::api {
namespace {

using tensor::DType;

// Of the types that matrices in tiles have.
bool IsTiled(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kI8:
    case DType::kU8:
    case DType::kI32:
    case DType::kU32:
      return true;
    default:
      return false;
  }
}

// The caller frees them with delete[].
void GiveDims(const std::vector<int64_t>& dims, int64_t** out, uint64_t* count) {
  *out = new int64_t[dims.size()];
  std::copy(dims.begin(), dims.end(), *out);
  *count = dims.size();
}

}  // namespace

void aclnnNpuFormatCastCalculateSizeAndFormat(const tensor::Tensor& src, int dstFormat, int additionalDtype,
                                              int64_t** dstShape, uint64_t* dstShapeSize, int* actualFormat) {
  constexpr int kLeastDims = 2, kMostDims = 6;
  const int rank = src.shape.rank();
  if (!IsTiled(src.dtype)) {
    Fail(
        tensor::kInvalidArgument, "op-dtype",
        "srcTensor is {}; matrices in tiles are of 8, 16 or 32 bits: ACL_FLOAT, ACL_FLOAT16, ACL_BF16 or integers",
        NameOf(src.dtype));
  }
  if (rank < kLeastDims || rank > kMostDims) {
    Fail(tensor::kInvalidArgument, "op-matrix-shape",
         "srcTensor has shape {}; a matrix has two to six dimensions", src.shape.ToString());
  }
  const auto wanted = static_cast<tensor::Format>(dstFormat);
  const bool in_tiles = ops::LiesInTiles(src);
  if (in_tiles && wanted == tensor::Format::kND) {
    GiveDims({src.shape.begin(), src.shape.end()}, dstShape, dstShapeSize);
  } else if (IsPlain(src.format) && wanted == tensor::Format::kFractalNZ) {
    const auto type = static_cast<DType>(additionalDtype);
    if (additionalDtype < 0 || additionalDtype > 127 || !IsTiled(type)) {
      Fail(tensor::kInvalidArgument, "op-dtype",
           "additionalDtype is {}; it is ACL_FLOAT, ACL_FLOAT16, ACL_BF16 or an integer of 8 or 32 bits",
           additionalDtype);
    }
    GiveDims(ops::TiledDims(src.shape, ops::kTileBytes / static_cast<int64_t>(BytesOf(type))), dstShape,
             dstShapeSize);
  } else {
    Fail(
        tensor::kInvalidArgument, "format-cast",
        "srcTensor is of format {}, dstFormat is {}: what is cast is ACL_FORMAT_ND to ACL_FORMAT_FRACTAL_NZ, or back",
        NameOf(src.format), dstFormat);
  }
  *actualFormat = dstFormat;
}

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
