// Folding columns that lie side by side: whole rows are taken, as vectors.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "ops/reduce/fold_loops.h"

namespace belay::ops {

template <class T>
constexpr DType kTypeOf = DType::kF32;
template <>
constexpr DType kTypeOf<double> = DType::kF64;
template <>
constexpr DType kTypeOf<int32_t> = DType::kI32;
template <>
constexpr DType kTypeOf<int64_t> = DType::kI64;

// Elements as the type in which they are folded.
template <class T>
struct FoldedBlocks {
  Lane in;
  DType computed;  // of a loaded block

  bool direct() const { return in.direct() && computed == kTypeOf<T>; }
  // n <= kBlock of them.
  const T* Load(T* buffer, const char* src, int64_t n) const {
    if (computed == kTypeOf<T>) return static_cast<const T*>(in.Load(buffer, src, n));
    alignas(64) char narrow[kBlock * 8];
    tensor::Convert(kTypeOf<T>, buffer, computed, in.Load(narrow, src, n), n);
    return buffer;
  }
};

// Rows in groups, groups in supergroups, so that no running sum takes more than kGroup additions at a level.
template <class T>
class ColumnFold {
 public:
  static constexpr int64_t kMost = 2 * kBlock;  // columns

  // `around` has a p for each column; null: they all have this one.
  ColumnFold(const FoldedBlocks<T>& blocks, const FoldLoops<T>& loops, T p, const T* around)
      : blocks_(blocks), loops_(loops), p_(p), around_(around) {}

  // How many rows of n columns, which follow each other, are folded as if they were one: rows of a few
  // elements cost more than what is in them.
  static int64_t RowsTogether(const LoopNest& rows, int64_t n, int64_t step) {
    constexpr int64_t kFew = 8;
    if (n > kFew || !rows.has_one_level() || rows.step(0) != n * step) return 1;
    return std::min(kMost / n, rows.count());
  }

  // The folds of n <= kMost columns, `step` bytes apart.
  void Fold(T* totals, const LoopNest& rows, const char* base, int64_t n, int64_t step) {
    const int64_t together = around_ == nullptr ? RowsTogether(rows, n, step) : 1;
    const int64_t whole = rows.count() / together;
    width_ = n * together, step_ = step, rows_ = 0;
    levels_ = whole < kGroup ? 1 : kLevels;
    for (int level = 0; level < levels_; ++level) std::fill_n(sums_[level], width_, loops_.start);
    if (together == 1) {
      char* start[1] = {const_cast<char*>(base)};
      rows.Walk(start, 0, whole, [&](char** at, int64_t m) { Rows(at[0], m, rows.step(0)); });
    } else {
      Rows(base, whole, width_ * step);
      TakeWide(base + whole * width_ * step, 1, rows.count() * n - whole * width_);
    }
    for (int level = 0; level + 1 < levels_; ++level)
      loops_.merge_into(sums_[level + 1], sums_[level], width_);
    T* total = sums_[levels_ - 1];
    for (int64_t left = together, half = left / 2; left > 1; left -= half, half = left / 2) {
      loops_.merge_into(total, total + (left - half) * n, half * n);
    }
    std::copy_n(total, n, totals);
  }

 private:
  static constexpr int kLevels = 4;
  static constexpr int64_t kGroup = 64;  // rows

  // m rows, `apart` bytes from each other.
  void Rows(const char* first, int64_t m, int64_t apart) {
    const bool as_they_are = loops_.elements == nullptr && around_ == nullptr && blocks_.direct();
    const int64_t most = as_they_are               ? kGroup
                         : apart == width_ * step_ ? std::clamp<int64_t>(kBlock / width_, 1, kGroup)
                                                   : 1;
    for (int64_t j = 0; j < m;) {
      const char* row = first + j * apart;
      const int64_t group = std::min({m - j, kGroup - rows_ % kGroup, most});
      if (as_they_are) {
        loops_.merge_rows(sums_[0], reinterpret_cast<const T*>(row), apart / int64_t{sizeof(T)}, group,
                          width_);
      } else {
        TakeWide(row, group, width_);
      }
      j += group, rows_ += group;
      int64_t done = rows_;
      for (int level = 0; level + 1 < levels_ && done % kGroup == 0; ++level, done /= kGroup) {
        loops_.merge_into(sums_[level + 1], sums_[level], width_);
        std::fill_n(sums_[level], width_, loops_.start);
      }
    }
  }

  // Rows of n <= kMost columns; of several, which follow each other, all together are at most kBlock
  // elements.
  void TakeWide(const char* from, int64_t rows, int64_t n) {
    for (int64_t i = 0; i < n; i += kBlock) Take(from + i * step_, rows, i, std::min(kBlock, n - i));
  }

  // Rows that follow each other, of n columns from `column` on; together at most kBlock elements.
  void Take(const char* from, int64_t rows, int64_t column, int64_t n) {
    alignas(64) T loaded[kBlock], changed[kBlock];
    const T* x = blocks_.Load(loaded, from, rows * n);
    if (around_ != nullptr) {
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < n; ++i)
          loaded[r * n + i] = static_cast<T>(x[r * n + i] - around_[column + i]);
      }
      x = loaded;
    }
    if (loops_.elements != nullptr) {
      loops_.elements(changed, x, rows * n, around_ == nullptr ? p_ : T{0});
      x = changed;
    }
    loops_.merge_rows(sums_[0] + column, x, n, rows, n);
  }

  const FoldedBlocks<T>& blocks_;
  const FoldLoops<T>& loops_;
  const T p_;
  const T* around_;
  int64_t width_ = 0, step_ = 0, rows_ = 0;
  int levels_ = 0;
  alignas(64) T sums_[kLevels][kMost];
};

}  // namespace belay::ops
