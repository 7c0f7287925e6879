// Matrices in a card's tiles, ACL_FORMAT_FRACTAL_NZ: a matrix [.., m, n] lies as [.., n / width, m / 16, 16,
// width], both numbers of tiles rounded up. The view says what the matrix is, the storage how it is tiled.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "ops/schema.h"

namespace belay::ops {

inline constexpr int64_t kTileRows = 16;
inline constexpr int64_t kTileBytes = 32;  // of a row, by the type that the width was chosen for

// How matrices of one size are tiled.
struct Tiling {
  int64_t matrices = 1, rows = 0, columns = 0;
  int64_t width = 0;  // columns of a tile
  int64_t bytes = 0;  // of an element

  int64_t row_tiles() const { return (rows + kTileRows - 1) / kTileRows; }
  int64_t column_tiles() const { return (columns + width - 1) / width; }
  int64_t plain_bytes() const { return matrices * rows * columns * bytes; }

  // What lies beside the matrix in its last tiles is 0. Steps of the plain matrix are bytes.
  void Tile(const char* plain, char* tiles) const;
  void Untile(const char* tiles, char* plain) const;

 private:
  template <class Piece>
  void ForRows(const Piece& piece) const;
};

// The dimensions of the storage of a matrix [.., m, n] in tiles of so many columns.
std::vector<int64_t> TiledDims(const Shape& shape, int64_t width);

// The tiling of a storage for the matrices of `shape`; nothing where it does not fit them.
std::optional<Tiling> TilingOf(const std::vector<int64_t>& storage, const Shape& shape, DType type);

// The matrices of a tensor as they were tiled: those of the view, or transposed ones. A view of a part is
// neither.
std::optional<Tiling> TilingOfView(const Tensor& t);

// A plan whose weights may lie in tiles: `inner` makes it for weights that lie plainly, and where there are
// others they are brought into the workspace before it runs.
class Untiled {
 public:
  explicit Untiled(Plan& plan) : outer_(plan) {}

  Operand Plain(const Operand& weight);
  OperandList Plain(const OperandList& weights);

  Plan& inner();
  void Finish();

 private:
  struct Weight {
    int binding;
    Tiling tiling;
    int64_t at;
  };
  struct Body;

  Plan& outer_;
  std::shared_ptr<PlanRef> inner_;
  std::deque<Tensor> plain_;
  std::vector<Weight> weights_;
  int64_t bytes_ = 0;
};

}  // namespace belay::ops
