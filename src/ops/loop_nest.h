// Walking several strided operands of one shape together. Dimensions of size one are dropped, the
// rest are put in the order of the result's memory and merged where all operands allow it, so that
// a kernel sees few long rows instead of many short ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "base/parallel.h"
#include "ops/schema.h"

namespace belay::ops {

class LoopNest {
 public:
  static constexpr int kMaxOperands = 4;

  LoopNest() = default;
  LoopNest(const LoopNest& other) { *this = other; }
  LoopNest& operator=(const LoopNest& other);  // copies the dimensions that there are: mostly one
  // Every operand broadcasts to `shape`; the first one is the result. An operand that is a scalar
  // is walked with stride 0 from wherever the caller points it.
  LoopNest(const Shape& shape, std::initializer_list<Operand> operands);

  // Rows of a few elements cost more than what is in them: a longer dimension whose elements are near each
  // other becomes the row. The order of the result's memory is lost.
  void MakeRowsLong();

  int64_t count() const { return count_; }
  int operands() const { return operands_; }
  int64_t row() const { return dims_[0].size; }                         // elements of a whole row
  int64_t step(int operand) const { return dims_[0].stride[operand]; }  // bytes along a row
  bool has_one_level() const { return rank_ == 1; }
  // There are rows of rows, and how many of them; the operand's rows follow each other in memory.
  bool has_two_levels() const { return rank_ == 2; }
  int64_t rows() const { return rank_ < 2 ? 1 : dims_[1].size; }
  bool rows_follow(int operand) const {
    return dims_[1].stride[operand] == dims_[0].stride[operand] * dims_[0].size;
  }
  // Bytes from one row to the next, where there are rows of rows.
  int64_t row_step(int operand) const { return dims_[1].stride[operand]; }
  // The dimensions from the innermost on, and an operand's bytes from one position to the next.
  int rank() const { return rank_; }
  int64_t size(int dim) const { return dims_[dim].size; }
  int64_t step(int operand, int dim) const { return dims_[dim].stride[operand]; }
  // Byte offset of the first element from the binding's address.
  int64_t offset(int operand) const { return offset_[operand]; }

  // A walk over the rows: each is an element of it. There are rows of rows.
  LoopNest OfRows() const;

  // Calls row(pointers, n) for pieces of rows that together are elements [begin, end) of the walk.
  // `base` holds a pointer to the first element of each operand.
  template <class Row>
  void Walk(char* const* base, int64_t begin, int64_t end, Row row) const;

  // The same over all elements, split over the cores when there are enough to be worth it. `after`
  // runs on each core when its part is done.
  template <class Row, class After>
  void WalkAll(char* const* base, Row row, After after) const {
    ParallelFor(count_, kGrain, [&](int64_t begin, int64_t end) {
      Walk(base, begin, end, row);
      after();
    });
  }

  // Fewer elements than two of these run on the core that has them.
  static constexpr int64_t kGrain = 128 * 1024;

 private:
  void AddOperand(const Shape& shape, const Operand& operand);
  int64_t Spread(int dim) const;
  void SortByResult();
  void Merge();

  int rank_ = 0;  // at least 1 once built
  int operands_ = 0;
  int64_t count_ = 0;
  int64_t offset_[kMaxOperands] = {};
  struct Dim {
    int64_t size;
    int64_t stride[kMaxOperands];  // bytes
  };
  Dim dims_[tensor::kMaxRank];  // innermost first
};

inline LoopNest& LoopNest::operator=(const LoopNest& other) {
  rank_ = other.rank_;
  operands_ = other.operands_;
  count_ = other.count_;
  std::copy_n(other.offset_, kMaxOperands, offset_);
  std::copy_n(other.dims_, other.rank_, dims_);
  return *this;
}

inline LoopNest LoopNest::OfRows() const {
  LoopNest rows;
  rows.rank_ = rank_ - 1;
  rows.operands_ = operands_;
  rows.count_ = count_ / row();
  std::copy_n(offset_, kMaxOperands, rows.offset_);
  std::copy_n(dims_ + 1, rows.rank_, rows.dims_);
  return rows;
}

template <class Row>
void LoopNest::Walk(char* const* base, int64_t begin, int64_t end, Row row) const {
  if (begin >= end) return;
  char* at[kMaxOperands];
  int64_t index[tensor::kMaxRank];
  int64_t rest = begin;
  for (int d = 0; d < rank_; ++d) {
    index[d] = rest % dims_[d].size;
    rest /= dims_[d].size;
  }
  char* start[kMaxOperands];  // of the row
  for (int k = 0; k < operands_; ++k) {
    start[k] = base[k];
    for (int d = 1; d < rank_; ++d) start[k] += index[d] * dims_[d].stride[k];
  }
  for (int64_t done = begin, first = index[0];; first = 0) {
    for (int k = 0; k < operands_; ++k) at[k] = start[k] + first * dims_[0].stride[k];
    const int64_t n = std::min(dims_[0].size - first, end - done);
    row(at, n);
    done += n;
    if (done >= end) return;
    int d = 1;
    for (; ++index[d] == dims_[d].size; ++d) {
      index[d] = 0;
      for (int k = 0; k < operands_; ++k) start[k] -= (dims_[d].size - 1) * dims_[d].stride[k];
    }
    for (int k = 0; k < operands_; ++k) start[k] += dims_[d].stride[k];
  }
}

}  // namespace belay::ops
