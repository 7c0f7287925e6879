#include "tensor/dims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "tensor/codes.h"

namespace belay::tensor {

void Dims::FailFull() {
  Fail(kInvalidArgument, "tensor-dims-full", "a tensor would have more than {} dimensions", kMaxRank);
}

std::string Dims::ToString() const { return fmt::format("[{}]", fmt::join(begin(), end(), ", ")); }

std::optional<int64_t> CheckedCount(std::span<const int64_t> sizes) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (__builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count;
}

Strides PackedStrides(const Shape& shape) {
  Strides strides = Strides::Filled(shape.rank(), 1);
  uint64_t step = 1;  // beside a size of 0 the others may be anything
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(std::max<int64_t>(shape[i], 1));
  }
  return strides;
}

bool IsPacked(const Shape& shape, const Strides& strides) {
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

std::optional<int64_t> ExtentOf(const Shape& shape, const Strides& strides) {
  int64_t last = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 0) return 0;
    int64_t reach;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return std::nullopt;
    }
  }
  if (__builtin_add_overflow(last, 1, &last)) return std::nullopt;
  return last;
}

std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  for (int i = 0; i < shorter.rank(); ++i) {
    int64_t x = longer.back(i);
    int64_t y = shorter.back(i);
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result.back(i) = x == 1 ? y : x;
  }
  return result;
}

bool BroadcastsTo(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 0; i < from.rank(); ++i) {
    if (from.back(i) != to.back(i) && from.back(i) != 1) return false;
  }
  return true;
}

Strides BroadcastStrides(const Shape& shape, const Strides& strides, const Shape& to) {
  Strides result = Strides::Filled(to.rank(), 0);
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.back(i) != 1) result.back(i) = strides.back(i);
  }
  return result;
}

}  // namespace belay::tensor
