// A list of up to eight numbers held inline: the sizes of a shape or its strides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace belay::tensor {

inline constexpr int kMaxRank = 8;

class Dims {
 public:
  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<int64_t> values) : rank_(static_cast<int>(values.size())) {
    std::copy(values.begin(), values.end(), values_);
  }
  // rank <= kMaxRank
  static constexpr Dims Of(const int64_t* values, int rank) {
    Dims dims;
    dims.rank_ = rank;
    std::copy(values, values + rank, dims.values_);
    return dims;
  }
  static constexpr Dims Filled(int rank, int64_t value) {
    Dims dims;
    dims.rank_ = rank;
    std::fill(dims.values_, dims.values_ + rank, value);
    return dims;
  }

  constexpr int rank() const { return rank_; }
  constexpr int64_t operator[](int i) const { return values_[i]; }
  constexpr int64_t& operator[](int i) { return values_[i]; }
  // Counted from the end: back(0) is the last.
  constexpr int64_t back(int i) const { return values_[rank_ - 1 - i]; }
  constexpr int64_t& back(int i) { return values_[rank_ - 1 - i]; }
  constexpr void push_back(int64_t value) {
    if (rank_ == kMaxRank) [[unlikely]]
      FailFull();
    values_[rank_++] = value;
  }
  constexpr const int64_t* data() const { return values_; }
  constexpr const int64_t* begin() const { return values_; }
  constexpr const int64_t* end() const { return values_ + rank_; }

  friend constexpr bool operator==(const Dims& a, const Dims& b) {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }

  std::string ToString() const;  // "[2, 3]"

 private:
  [[noreturn]] static void FailFull();

  int64_t values_[kMaxRank] = {};
  int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

// Product of the sizes; of a shape whose product was checked before (CheckedCount), or of part of one. Sizes
// beside a zero may be of any size.
inline int64_t CountOf(const Shape& shape) {
  uint64_t count = 1;
  for (int64_t size : shape) count *= static_cast<uint64_t>(size);
  return static_cast<int64_t>(count);
}
// The product, or nothing when it does not fit in 63 bits. A zero size gives zero whatever the others.
std::optional<int64_t> CheckedCount(std::span<const int64_t> sizes);

// Row-major strides, in elements.
Strides PackedStrides(const Shape& shape);

// The view's elements lie one after another in row-major order (sizes of one have any stride).
bool IsPacked(const Shape& shape, const Strides& strides);

// One past the last element that the view touches, counted from its first; 0 for an empty view.
// Nothing on overflow.
std::optional<int64_t> ExtentOf(const Shape& shape, const Strides& strides);

// Numpy's rule; nothing when the shapes do not fit together.
std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b);
// `from` can be expanded to `to` as it is.
bool BroadcastsTo(const Shape& from, const Shape& to);
// Strides that walk a tensor of `shape` over the larger shape `to` (stride 0 where it repeats).
Strides BroadcastStrides(const Shape& shape, const Strides& strides, const Shape& to);

}  // namespace belay::tensor
