// Tensors as rows of floats, read and written one row at a time: what is before the last dimension is one
// long list.
#pragma once

#include <cstdint>

#include "ops/pipeline.h"
#include "ops/schema.h"

namespace belay::ops {

class Rows {
 public:
  Rows() = default;
  // An operand that is not there has no rows. One dimension: each number is a row (`width` 1).
  explicit Rows(const Operand& operand, bool one_each = false);

  bool present() const { return binding_ >= 0; }
  int64_t count() const { return count_; }
  int64_t width() const { return width_; }

  // The row, in `buffer` or where it lies.
  const float* Load(const Frame& frame, int64_t row, float* buffer) const;
  void Store(const Frame& frame, int64_t row, const float* values) const;
  // Columns [first, first + n), n <= kBlock.
  const float* Load(const Frame& frame, int64_t row, int64_t first, int64_t n, float* buffer) const;
  void Store(const Frame& frame, int64_t row, int64_t first, int64_t n, const float* values) const;
  void Clear(const Frame& frame, int64_t row) const;
  // Row `from` of another tensor over this one's.
  void Copy(const Frame& frame, int64_t row, const Rows& other, int64_t from) const;

  float At(const Frame& frame, int64_t row, int64_t column) const {
    float value;
    return *Load(frame, row, column, 1, &value);
  }
  void Set(const Frame& frame, int64_t row, int64_t column, float value) const {
    Store(frame, row, column, 1, &value);
  }

 private:
  char* Place(const Frame& frame, int64_t row) const;

  int binding_ = -1;
  int64_t count_ = 0, width_ = 0, offset_ = 0, step_ = 0;  // bytes
  int rank_ = 0;                                           // of what is before the rows, innermost first
  int64_t sizes_[tensor::kMaxRank] = {}, steps_[tensor::kMaxRank] = {};
  DType type_ = DType::kUndefined;
  Lane lane_;
};

// Whole numbers that a kernel writes, in the type and at the strides of the operand.
class WholeOut {
 public:
  WholeOut() = default;
  explicit WholeOut(const Operand& operand);

  bool present() const { return binding_ >= 0; }
  int64_t count() const { return count_; }
  void Set(const Frame& frame, int64_t i, int64_t value) const;

 private:
  int binding_ = -1;
  int64_t count_ = 0, offset_ = 0;
  int rank_ = 0;
  int64_t sizes_[tensor::kMaxRank] = {}, steps_[tensor::kMaxRank] = {};
  DType type_ = DType::kUndefined;
};

}  // namespace belay::ops
