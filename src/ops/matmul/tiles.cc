#include "ops/matmul/tiles.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/tiled.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {

// Calls piece(plain offset, tiled offset, bytes, room in the tile) for each row of each tile; those below the
// matrix have no bytes.
template <class Piece>
void Tiling::ForRows(const Piece& piece) const {
  const int64_t high = row_tiles() * kTileRows, tiles = column_tiles(), line = width * bytes;
  constexpr int64_t kWorthACore = 65536;
  ParallelFor(matrices * tiles, std::max<int64_t>(1, kWorthACore / (high * line + 1)),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t matrix = i / tiles, column = i % tiles * width;
                  const int64_t many = std::min(width, columns - column) * bytes;
                  for (int64_t r = 0; r < high; ++r) {
                    const int64_t from = ((matrix * rows + r) * columns + column) * bytes;
                    piece(from, (i * high + r) * line, r < rows ? many : 0, line);
                  }
                }
              });
}

void Tiling::Tile(const char* plain, char* tiles) const {
  ForRows([&](int64_t from, int64_t to, int64_t count, int64_t room) {
    if (count != 0) std::memcpy(tiles + to, plain + from, static_cast<size_t>(count));
    std::memset(tiles + to + count, 0, static_cast<size_t>(room - count));
  });
}

void Tiling::Untile(const char* tiles, char* plain) const {
  ForRows([&](int64_t to, int64_t from, int64_t count, int64_t) {
    if (count != 0) std::memcpy(plain + to, tiles + from, static_cast<size_t>(count));
  });
}

std::vector<int64_t> TiledDims(const Shape& shape, int64_t width) {
  const int rank = shape.rank();
  std::vector<int64_t> dims(shape.begin(), shape.begin() + (rank - 2));
  dims.push_back((shape.back(0) + width - 1) / width);
  dims.push_back((shape.back(1) + kTileRows - 1) / kTileRows);
  dims.push_back(kTileRows);
  dims.push_back(width);
  return dims;
}

std::optional<Tiling> TilingOf(const std::vector<int64_t>& storage, const Shape& shape, DType type) {
  if (shape.rank() < 2 || storage.empty()) return std::nullopt;
  const int64_t width = storage.back();
  if (width != 8 && width != 16 && width != 32) return std::nullopt;
  if (TiledDims(shape, width) != storage) return std::nullopt;
  Tiling tiling;
  tiling.rows = shape.back(1), tiling.columns = shape.back(0);
  for (int d = 0; d < shape.rank() - 2; ++d) tiling.matrices *= shape[d];
  tiling.width = width, tiling.bytes = static_cast<int64_t>(BytesOf(type));
  return tiling;
}

std::optional<Tiling> TilingOfView(const Tensor& t) {
  const int rank = t.shape.rank();
  if (rank < 2 || t.offset != 0 || BytesOf(t.dtype) == 0) return std::nullopt;
  if (t.strides == tensor::PackedStrides(t.shape)) return TilingOf(t.storage, t.shape, t.dtype);
  Shape turned = t.shape, strides = t.strides;
  std::swap(turned[rank - 1], turned[rank - 2]);
  std::swap(strides[rank - 1], strides[rank - 2]);
  if (strides != tensor::PackedStrides(turned)) return std::nullopt;
  return TilingOf(t.storage, turned, t.dtype);
}

struct Untiled::Body {
  std::shared_ptr<PlanRef> inner;
  std::vector<Weight> weights;
  int bindings;
  int64_t inner_at;

  void operator()(const Frame& frame) const {
    std::vector<char*> at(frame.at, frame.at + bindings);
    for (const Weight& weight : weights) {
      char* plain = frame.workspace + weight.at;
      weight.tiling.Untile(at[static_cast<size_t>(weight.binding)], plain);
      at[static_cast<size_t>(weight.binding)] = plain;
    }
    (*inner)->Run({at.data(), frame.workspace + inner_at});
  }
};

Operand Untiled::Plain(const Operand& weight) {
  if (weight.tensor == nullptr || !LiesInTiles(*weight.tensor)) return weight;
  const std::optional<Tiling> tiling = TilingOfView(*weight.tensor);
  if (!tiling) {
    Fail(tensor::kInvalidArgument, "tiles-view",
         "{} has shape {}, strides {} and offset {}: in ACL_FORMAT_FRACTAL_NZ a matrix is taken whole, or "
         "transposed as a whole, and its storage is [.., n / width, m / 16, 16, width] of it",
         weight.name, weight.shape().ToString(), weight.tensor->strides.ToString(), weight.tensor->offset);
  }
  plain_.push_back(*weight.tensor);
  plain_.back().format = tensor::Format::kND;
  plain_.back().storage.assign(1, weight.tensor->count());
  weights_.push_back({weight.binding, *tiling, bytes_});
  bytes_ += WorkspacePart(tiling->plain_bytes());
  Operand plain = weight;
  plain.tensor = &plain_.back();
  return plain;
}

OperandList Untiled::Plain(const OperandList& weights) {
  OperandList plain;
  for (const Operand& weight : weights) plain.push_back(Plain(weight));
  return plain;
}

Plan& Untiled::inner() {
  if (weights_.empty()) return outer_;
  if (inner_ == nullptr) inner_ = std::make_shared<PlanRef>(NewPlan(outer_.function()));
  return **inner_;
}

void Untiled::Finish() {
  if (inner_ == nullptr || !(*inner_)->has_work()) return;
  outer_.SetWorkspace(static_cast<uint64_t>(bytes_) + (*inner_)->workspace_bytes());
  outer_.SetProducts((*inner_)->products());
  outer_.SetCost((*inner_)->cost() + static_cast<uint64_t>(bytes_) / 8);
  outer_.SetBody(Body{inner_, weights_, outer_.binding_count(), bytes_});
}

}  // namespace belay::ops
