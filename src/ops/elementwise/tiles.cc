#include "ops/elementwise/tiles.h"

#include <algorithm>
#include <cstring>

#include "tensor/convert.h"

namespace belay::ops {
namespace {

// v, v, v, ... of n elements for each of `rows` values that lie `step` bytes apart. A few bytes behind them
// are written, too.
template <class T>
void SpreadOut(char* to, const char* from, int64_t step, int64_t rows, int64_t n) {
  constexpr int64_t kEach = 16 / sizeof(T);
  for (int64_t r = 0; r < rows; ++r) {
    T value, some[kEach];
    std::memcpy(&value, from + r * step, sizeof(T));
    std::fill_n(some, kEach, value);
    for (int64_t i = 0; i < n; i += kEach) {
      std::memcpy(to + (r * n + i) * static_cast<int64_t>(sizeof(T)), some, sizeof(some));
    }
  }
}

void SpreadOut(char* to, const char* from, int64_t step, int64_t rows, int64_t n, int64_t bytes) {
  if (bytes == 1) return SpreadOut<uint8_t>(to, from, step, rows, n);
  if (bytes == 2) return SpreadOut<uint16_t>(to, from, step, rows, n);
  bytes == 4 ? SpreadOut<uint32_t>(to, from, step, rows, n) : SpreadOut<uint64_t>(to, from, step, rows, n);
}

// The first `bytes` fill the whole.
void Repeat(char* to, int64_t bytes, int64_t whole) {
  for (int64_t done = bytes; done < whole; done *= 2) {
    std::memcpy(to + done, to, static_cast<size_t>(std::min(done, whole - done)));
  }
}

// One operand's part of a tile.
struct Writer {
  const LoopNest& nest;
  int operand;
  int64_t bytes;
  int packed = 0;  // dimensions before this one lie one behind the other

  Writer(const LoopNest& of, int k, int64_t bytes_of) : nest(of), operand(k), bytes(bytes_of) {
    int64_t step = bytes;
    while (packed < nest.rank() && nest.step(operand, packed) == step) step *= nest.size(packed++);
  }

  // `size` positions of a dimension, each of `elements` elements.
  void Write(char* to, const char* from, int dim, int64_t size, int64_t elements) const {
    const int64_t step = nest.step(operand, dim), each = elements * bytes;
    if (dim < packed) {
      std::memcpy(to, from, static_cast<size_t>(size * each));
    } else if (dim == 0) {
      step == 0 ? SpreadOut(to, from, 0, 1, size, bytes)
                : tensor::Gather(to, from, step, size, static_cast<size_t>(bytes));
    } else if (step == 0) {
      Write(to, from, dim - 1, nest.size(dim - 1), elements / nest.size(dim - 1));
      Repeat(to, each, size * each);
    } else if (dim == 1 && nest.step(operand) == 0) {
      SpreadOut(to, from, step, size, elements, bytes);
    } else {
      for (int64_t i = 0; i < size; ++i) {
        Write(to + i * each, from + i * step, dim - 1, nest.size(dim - 1), elements / nest.size(dim - 1));
      }
    }
  }
};

}  // namespace

Tiles::Tiles(const LoopNest& nest) {
  while (cut_ + 1 < nest.rank() && below_ * nest.size(cut_) <= kMost) below_ *= nest.size(cut_++);
  const int64_t size = nest.size(cut_), most = std::max<int64_t>(1, kMost / below_);
  pieces_ = (size + most - 1) / most;
  each_ = (size + pieces_ - 1) / pieces_;
  pieces_ = (size + each_ - 1) / each_;
  outer_ = nest.count() / (size * below_);
}

// Tiles that differ in the outer dimensions only follow each other, which may leave operands as they are.
Tiles::Tile Tiles::At(const LoopNest& nest, int64_t tile) const {
  const int64_t piece = tile / outer_, first = piece * each_;
  int64_t place = tile % outer_;
  Tile found = {};
  found.positions = std::min(each_, nest.size(cut_) - first);
  found.elements = found.positions * below_;
  for (int k = 0; k < nest.operands(); ++k) found.at[k] = first * nest.step(k, cut_);
  for (int d = cut_ + 1; d < nest.rank(); ++d) {
    const int64_t index = place % nest.size(d);
    place /= nest.size(d);
    for (int k = 0; k < nest.operands(); ++k) found.at[k] += index * nest.step(k, d);
  }
  return found;
}

bool Tiles::Follows(const LoopNest& nest, int operand, int64_t bytes) const {
  const int end = each_ == 1 ? cut_ : cut_ + 1;  // of the dimensions of which there are several positions
  for (int d = 0; d < end; bytes *= nest.size(d++)) {
    if (nest.step(operand, d) != bytes) return false;
  }
  return true;
}

void Tiles::WriteOut(char* to, const char* from, const LoopNest& nest, int operand, int64_t positions,
                     int64_t bytes) const {
  Writer(nest, operand, bytes).Write(to, from, cut_, positions, below_);
}

bool Tiles::IsPacked(const LoopNest& nest, int64_t bytes) {
  for (int d = 0; d < nest.rank(); bytes *= nest.size(d++)) {
    if (nest.step(0, d) != bytes) return false;
  }
  return true;
}

}  // namespace belay::ops
