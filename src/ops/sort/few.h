// The first few of a row, without putting the row in order.
#pragma once

#include <cstdint>

namespace belay::ops {

inline constexpr int64_t kMostFew = 128;

// The places of the first `keep` <= kMostFew <= n of n elements in their order: NaN is the largest, and of
// those that are equal the first comes first.
void FirstFew(const float* row, int64_t n, int64_t keep, bool descending, int64_t* places);
void FirstFew(const double* row, int64_t n, int64_t keep, bool descending, int64_t* places);
void FirstFew(const int32_t* row, int64_t n, int64_t keep, bool descending, int64_t* places);
void FirstFew(const int64_t* row, int64_t n, int64_t keep, bool descending, int64_t* places);

}  // namespace belay::ops
