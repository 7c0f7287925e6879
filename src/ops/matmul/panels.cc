#include "ops/matmul/panels.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "ops/matmul/tiles.h"
#include "ops/tiled.h"
#include "tensor/convert.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

constexpr int64_t kInEach = 8;  // nibbles of an INT32

std::optional<PanelType> TypeOfPanels(DType type) {
  switch (type) {
    case DType::kBF16:
      return PanelType::kBFloat16;
    case DType::kI8:
      return PanelType::kBytes;
    case DType::kI4:
    case DType::kI32:
      return PanelType::kNibbles;
    default:
      return std::nullopt;
  }
}

}  // namespace

PanelPlace::PanelPlace(const Operand& operand, int64_t index) {
  const Tensor& t = *operand.tensor;
  const std::optional<PanelType> found = TypeOfPanels(t.dtype);
  if (!found || t.shape.rank() < 2) return;
  type = *found;
  rows = t.shape.back(1), columns = t.shape.back(0);
  LiesInTiles(t) ? TakeTiles(t, index) : TakeLines(t, index);
  if (line != 0) binding = operand.binding;
}

void PanelPlace::TakeTiles(const Tensor& t, int64_t index) {
  const std::optional<Tiling> tiling = TilingOfView(t);
  if (!tiling || tiling->width * tiling->bytes != PanelMatrix::kTile) return;
  across = t.strides != tensor::PackedStrides(t.shape);
  if (t.dtype == DType::kI32) (across ? rows : columns) *= kInEach;
  tile = tiling->row_tiles() * kTileRows * PanelMatrix::kTile, matrix = tile * tiling->column_tiles();
  at = index * matrix, line = PanelMatrix::kTile;
}

void PanelPlace::TakeLines(const Tensor& t, int64_t index) {
  const int rank = t.shape.rank();
  const int64_t each_bits = t.dtype == DType::kI32 ? BitsOf(type) * kInEach : BitsOf(type);
  across = t.strides.back(0) != 1;
  if (across && t.strides.back(1) != 1) return;
  if (t.dtype == DType::kI32) (across ? rows : columns) *= kInEach;
  int64_t offset = t.offset;
  for (int d = rank - 3; d >= 0; --d) {
    offset += index % t.shape[d] * t.strides[d];
    index /= t.shape[d];
  }
  const int64_t apart = (across ? t.strides.back(0) : t.strides.back(1)) * each_bits;
  if (apart % 8 != 0 || offset * each_bits % 8 != 0 || apart <= 0) return;
  at = offset * each_bits / 8, line = apart / 8;
}

PanelPlace PanelPlace::Transposed() const {
  PanelPlace turned = *this;
  turned.across = !across;
  std::swap(turned.rows, turned.columns);
  return turned;
}

PanelMatrix PanelPlace::From(const Frame& frame, int64_t row, int64_t column, int64_t offset) const {
  const int64_t x = (across ? row : column) * BitsOf(type) / 8, lines = across ? column : row;
  const int64_t other = matrix == 0 ? offset * BitsOf(type) / 8 : offset / (rows * columns) * matrix;
  const char* from = frame.at[binding] + at + other + lines * line;
  return {from + x / PanelMatrix::kTile * tile + x % PanelMatrix::kTile, line, tile, across, type};
}

bool PanelsMultiply(DType x, const Operand& weight) {
  const std::optional<PanelType> type = TypeOfPanels(weight.dtype());
  if (!type) return false;
  const bool floats = *type == PanelType::kBFloat16;
  const bool fits = x == DType::kBF16 || (!floats && (x == DType::kF16 || x == weight.dtype()));
  const bool can =
      x == DType::kBF16 || x == DType::kF16 ? BestFloatPanels() != nullptr : BestBytePanels() != nullptr;
  return fits && can && PanelPlace(weight, 0).present();
}

void WeightPanels::TakeRow(const void* from, int64_t step, uint16_t* to, float* sums) const {
  const int64_t k = weights.rows;
  if (x == DType::kBF16 && step == sizeof(uint16_t) && !shifts) {
    std::memcpy(to, from, static_cast<size_t>(k) * sizeof(uint16_t));
    return;
  }
  alignas(64) float values[kBlock], near[kBlock];
  const Lane lane(x, DType::kF32, step);
  for (int64_t first = 0; first < k;) {
    const int64_t left = depth - first % depth, count = std::min({kBlock, k - first, left});
    const char* at = static_cast<const char*>(from) + first * step;
    const auto* loaded = static_cast<const float*>(lane.Load(values, at, count));
    tensor::Convert(DType::kBF16, to + first, DType::kF32, loaded, count);
    if (shifts) {
      const float sum = BestQuantLoops().sum(loaded, count);
      float& all = sums[first / depth];
      all = left == depth ? sum : all + sum;
    }
    if (each() == 2) {
      tensor::Convert(DType::kF32, near, DType::kBF16, to + first, count);
      for (int64_t i = 0; i < count; ++i) near[i] = loaded[i] - near[i];
      tensor::Convert(DType::kBF16, to + k + first, DType::kF32, near, count);
    }
    first += count;
  }
}

}  // namespace belay::ops
