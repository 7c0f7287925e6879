// Tensors of indices, which kernels read as packed places.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/codes.h"
#include "ops/layout/strided_copy.h"
#include "ops/schema.h"
#include "ops/scratch.h"

namespace belay::ops {

inline constexpr int kIndexFault = codes::kRtVectorCoreException;  // ACL_ERROR_RT_VECTOR_CORE_EXCEPTION

// Counts from the end when negative; throws Error for what is beyond the dimension's `size`.
int64_t CheckedPlace(int64_t index, int64_t size);

class Indices {
 public:
  Indices() = default;
  Indices(Plan& plan, const Tensor& tensor);

  int64_t count() const { return copy_.count(); }
  // The numbers as they are, row by row.
  std::span<int64_t> Read(const Frame& frame, int binding) const;
  // Places in a dimension of `size` elements.
  std::span<int64_t> Places(const Frame& frame, int binding, int64_t size) const;

 private:
  StridedCopy copy_;
  Scratch<int64_t> values_;
};

// Blocks that rows of indices name, by an index for each of some dimensions.
class NamedBlocks {
 public:
  NamedBlocks() = default;
  // The last dimension of `index` is a row, of indices of the dimensions of `named` from `first` on.
  NamedBlocks(Plan& plan, const Operand& index, const Tensor& named, int first);

  // Where they begin, in bytes. Throws Error where any lies beyond.
  std::span<const int64_t> Offsets(const Frame& frame) const;

 private:
  [[noreturn]] void FailBeyond(const int64_t* given) const;

  StridedCopy copy_;
  bool in_place_ = false;  // they are read where they lie
  int binding_ = -1;
  int64_t rows_ = 0, offset_ = 0;
  std::vector<int64_t> sizes_, steps_;  // of the named dimensions; bytes
  Scratch<int64_t> values_;
};

// A packed tensor of i64, to be walked together with others in row-major order.
Tensor PackedPlaces(const Shape& shape);

}  // namespace belay::ops
