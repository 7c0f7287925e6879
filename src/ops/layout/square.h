// Small squares of elements turned over in registers of 16 bytes, which every processor has: memory is
// slower.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace belay::ops {

// to[c][r] = from[r][c] for r and c below the elements of 16 bytes; steps in bytes.
template <class T>
class Square {
 public:
  static constexpr int kSide = 16 / sizeof(T);

  [[gnu::always_inline]] static void Turn(const char* from, int64_t from_step, char* to, int64_t to_step) {
    Rows rows;
#pragma GCC unroll 16
    for (int r = 0; r < kSide; ++r) std::memcpy(&rows.at[r], from + r * from_step, sizeof(Row));
    rows = Mixed<kSide>(rows);
#pragma GCC unroll 16
    for (int r = 0; r < kSide; ++r) std::memcpy(to + r * to_step, &rows.at[r], sizeof(Row));
  }

 private:
  using Row [[gnu::vector_size(16)]] = T;
  struct Rows {
    Row at[kSide];
  };

  // The elements of two rows in turn, from `first` on.
  template <int kFirst, int... i>
  [[gnu::always_inline]] static Row InTurn(Row a, Row b, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a, b, (i % 2 * kSide + i / 2 + kFirst)...);
  }

  // Each round puts the rows of both halves between each other; after as many as halve the side they are
  // turned.
  template <int kLeft>
  [[gnu::always_inline]] static Rows Mixed(const Rows& rows) {
    if constexpr (kLeft == 1) {
      return rows;
    } else {
      constexpr std::make_integer_sequence<int, kSide> kAll;
      Rows mixed;
#pragma GCC unroll 8
      for (int r = 0; r < kSide / 2; ++r) {
        mixed.at[2 * r] = InTurn<0>(rows.at[r], rows.at[r + kSide / 2], kAll);
        mixed.at[2 * r + 1] = InTurn<kSide / 2>(rows.at[r], rows.at[r + kSide / 2], kAll);
      }
      return Mixed<kLeft / 2>(mixed);
    }
  }
};

// to[c][r] = from[r][c] of rows and columns that fill a square at least: the last squares may begin before
// those in front of them end. Steps in bytes.
template <class T>
void TurnBySquares(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t rows,
                   int64_t columns) {
  constexpr int64_t kSide = Square<T>::kSide, kBytes = sizeof(T);
  for (int64_t i = 0; i < rows; i += kSide) {
    const int64_t r = std::min(i, rows - kSide);
    for (int64_t k = 0; k < columns; k += kSide) {
      const int64_t c = std::min(k, columns - kSide);
      Square<T>::Turn(from + r * from_step + c * kBytes, from_step, to + c * to_step + r * kBytes, to_step);
    }
  }
}

}  // namespace belay::ops
