// Products of matrices of a few rows and columns, where a library's call costs more than the product.
#pragma once

#include <cstdint>

namespace belay::ops {

struct TinyProduct {
  static constexpr int64_t kMostColumns = 32, kMostDeep = 64, kMostProducts = 32 * 32 * 32;

  int64_t m, n, k;
  // Elements from one row or column to the next; c's columns are packed.
  int64_t a_row, a_column, b_row, b_column, c_row;

  bool IsTiny() const { return n <= kMostColumns && k <= kMostDeep && m * n * k <= kMostProducts; }
};

// c = a x b
using TinyLoop = void (*)(const TinyProduct& shape, const float* a, const float* b, float* c);
TinyLoop BestTinyLoop();

}  // namespace belay::ops
