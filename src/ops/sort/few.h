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

// The same of kRowsAcross rows side by side, for `keep` <= kMostAcross <= n: element k of row r is
// x[k * step + r], and its k-th place is places[k * kRowsAcross + r].
inline constexpr int64_t kRowsAcross = 16, kMostAcross = 8;
void FirstFewAcross(const float* x, int64_t step, int64_t n, int64_t keep, bool descending, int64_t* places);
void FirstFewAcross(const double* x, int64_t step, int64_t n, int64_t keep, bool descending, int64_t* places);
void FirstFewAcross(const int32_t* x, int64_t step, int64_t n, int64_t keep, bool descending,
                    int64_t* places);
void FirstFewAcross(const int64_t* x, int64_t step, int64_t n, int64_t keep, bool descending,
                    int64_t* places);

}  // namespace belay::ops
