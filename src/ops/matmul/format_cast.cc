// Matrices to and from the tiles of a card, and products with weights that lie so.
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/strided_copy.h"
#include "ops/matmul/panels.h"
#include "ops/matmul/tiles.h"
#include "ops/tiled.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct FormatCastBody {
  Tiling tiling;
  StridedCopy copy;     // between the view and a packed matrix in the workspace
  int64_t packed = -1;  // where the packed matrix lies in the view's own memory; -1: in the workspace
  int from, to;
  bool to_tiles;

  void operator()(const Frame& frame) const {
    char* view = frame.at[to_tiles ? from : to];
    char* plain = packed >= 0 ? view + packed : frame.workspace;
    if (to_tiles) {
      if (packed < 0) copy.Run(plain, view);
      tiling.Tile(plain, frame.at[to]);
    } else {
      tiling.Untile(frame.at[from], plain);
      if (packed < 0) copy.Run(view, plain);
    }
  }
};

// The tensor in tiles is described by the matrix, or by its storage.
void CheckDescribed(const Operand& tiled, const Operand& plain) {
  const Tensor& t = *tiled.tensor;
  const Shape& shape = plain.shape();
  const bool as_storage = std::equal(t.shape.begin(), t.shape.end(), t.storage.begin(), t.storage.end());
  if ((t.shape == shape || as_storage) && t.offset == 0 && t.strides == tensor::PackedStrides(t.shape))
    return;
  Fail(
      tensor::kInvalidArgument, "format-cast",
      "{} has shape {}, strides {} and offset {}; a tensor in tiles of the matrix {} has its shape, is packed and begins "
      "at 0",
      tiled.name, t.shape.ToString(), t.strides.ToString(), t.offset, shape.ToString());
}

// A product of few rows, of which bringing the weights into lines would be the larger part: as one group.
bool ReadsFewRowsOfTiles(const Operand& self, const Operand& mat2) {
  constexpr int64_t kFewRows = 256;
  const bool matrices = self.shape().rank() == 2 && mat2.shape().rank() == 2;
  return matrices && self.shape()[0] <= kFewRows && !self.tensor->empty() && !mat2.tensor->empty() &&
         LiesInTiles(*mat2.tensor) && PanelsMultiply(self.dtype(), mat2);
}

}  // namespace

namespace kernels {

void NpuFormatCast(Plan& plan, DType, const Operand& src, const Operand& dst) {
  const bool to_tiles = LiesInTiles(*dst.tensor);
  if (to_tiles == LiesInTiles(*src.tensor)) {
    Fail(
        tensor::kInvalidArgument, "format-cast",
        "{} and {} are of formats {} and {}: one is plain, and the other is ACL_FORMAT_FRACTAL_NZ with a storage in "
        "tiles",
        src.name, dst.name, NameOf(src.tensor->format), NameOf(dst.tensor->format));
  }
  const Operand &tiled = to_tiles ? dst : src, &plain = to_tiles ? src : dst;
  if (src.dtype() != dst.dtype()) {
    Fail(tensor::kInvalidArgument, "op-same-type", "{} is {}, but {} is {}", src.name, NameOf(src.dtype()),
         dst.name, NameOf(dst.dtype()));
  }
  constexpr int kMostDims = 6;
  const std::optional<Tiling> tiling = TilingOf(tiled.tensor->storage, plain.shape(), src.dtype());
  if (!tiling || plain.shape().rank() > kMostDims) {
    Fail(
        tensor::kInvalidArgument, "format-cast",
        "{} has shape {}, which {} does not hold: a storage in tiles is [.., n / width, m / 16, 16, width] for a "
        "matrix [.., m, n] of two to six dimensions; aclnnNpuFormatCastCalculateSizeAndFormat gives it",
        plain.name, plain.shape().ToString(), tiled.name);
  }
  CheckDescribed(tiled, plain);
  if (plain.tensor->empty()) return;
  FormatCastBody body{
      .tiling = *tiling, .copy = {}, .from = src.binding, .to = dst.binding, .to_tiles = to_tiles};
  const Tensor& view = *plain.tensor;
  if (view.strides == tensor::PackedStrides(view.shape)) {
    body.packed = tensor::OffsetOf(view);
  } else {
    const Tensor packed = tensor::PackedOf(view.dtype, view.shape);
    body.copy = to_tiles ? StridedCopy(packed, view) : StridedCopy(view, packed);
    plan.SetWorkspace(static_cast<uint64_t>(tiling->plain_bytes()));
  }
  plan.SetCost(100 + static_cast<uint64_t>(tiling->plain_bytes()) / 8);
  plan.SetBody(body);
}

void MatmulWeightNz(Plan& plan, DType compute, const Operand& self, const Operand& mat2, int64_t math_type,
                    const Operand& out) {
  constexpr int64_t kMathTypes = 4;  // others are refused below
  if (math_type >= 0 && math_type < kMathTypes && ReadsFewRowsOfTiles(self, mat2)) {
    return GroupedMatmulWeightNz(plan, compute,
                                 {.x = {self},
                                  .weight = {mat2},
                                  .split_item = 0,
                                  .group_type = -1,
                                  .group_list_type = 0,
                                  .act_type = 0,
                                  .quant_group_size = 0,
                                  .results = {out}});
  }
  Untiled untiled(plan);
  const Operand plain = untiled.Plain(mat2);
  Matmul(untiled.inner(), compute, self, plain, math_type, out);
  untiled.Finish();
}

void AddmmWeightNz(Plan& plan, DType compute, const Operand& self, const Operand& mat1, const Operand& mat2,
                   const Scalar& beta, const Scalar& alpha, const Operand& out, int64_t math_type) {
  Untiled untiled(plan);
  const Operand plain = untiled.Plain(mat2);
  Addmm(untiled.inner(), compute, self, mat1, plain, beta, alpha, out, math_type);
  untiled.Finish();
}

void QuantMatmulWeightNz(Plan& plan, DType compute, const QuantMatmulWeightNzArguments& a) {
  Untiled untiled(plan);
  const Operand plain = PanelsMultiply(a.x1.dtype(), a.x2) ? a.x2 : untiled.Plain(a.x2);
  QuantMatmulV5(untiled.inner(), compute,
                {.x1 = a.x1,
                 .x2 = plain,
                 .x1_scale = a.x1_scale,
                 .x2_scale = a.x2_scale,
                 .y_scale = a.y_scale,
                 .x1_offset = a.x1_offset,
                 .x2_offset = a.x2_offset,
                 .y_offset = a.y_offset,
                 .bias = a.bias,
                 .transpose_x1 = a.transpose_x1,
                 .transpose_x2 = a.transpose_x2,
                 .group_size = a.group_size,
                 .out = a.out});
  untiled.Finish();
}

}  // namespace kernels
}  // namespace belay::ops
