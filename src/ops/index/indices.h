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

// A packed tensor of i64, to be walked together with others in row-major order.
Tensor PackedPlaces(const Shape& shape);

}  // namespace belay::ops
