// What is kept of a token in latent attention: its normalised latent part and its turned key, each a row of a
// cache of its own.
#pragma once

#include <cstdint>

#include "ops/pipeline.h"
#include "ops/schema.h"

namespace belay::ops {

// Rows of a cache, at the dimension `of_row` of each of its first; without one each of these is a row. In
// tiles the elements of a page are those of [width / tile, rows, tile].
class LatentCache {
 public:
  LatentCache() = default;
  LatentCache(const Operand& cache, int of_row, bool tiles);

  // Of a row in tiles.
  static int64_t TileOf(DType type);

  int64_t rows() const { return rows_; }  // of a page
  int64_t slots() const { return pages_ * rows_; }
  int64_t width() const { return width_; }
  void Store(const Frame& frame, int64_t slot, const float* values) const;

 private:
  int binding_ = -1;
  int64_t at_ = 0, page_ = 0, row_ = 0, step_ = 0;  // bytes
  int64_t pages_ = 0, rows_ = 1, width_ = 0, tile_ = 0;
  Lane lane_;
};

// to = x / the root of its mean square * factors
void NormaliseLatent(const float* x, const float* factors, int64_t n, double epsilon, float* to);

// The even elements come before the odd ones, then halves are turned.
void TurnApart(const float* x, const float* cosines, const float* sines, int64_t n, float* to);

// Throws Error: a task names a slot that is not there.
[[noreturn]] void FailSlot(int64_t slot, int64_t slots);

}  // namespace belay::ops
