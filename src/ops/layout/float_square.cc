#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/layout/float_square.cc"
#include "ops/layout/float_square.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/layout/square.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// What comes next on either side: no processor foresees so many rows at once.
template <class T>
HWY_ATTR HWY_INLINE void Foresee(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t side) {
  constexpr int64_t kAhead = 2;  // squares
  for (int64_t r = 0; r < side; ++r) __builtin_prefetch(from + r * from_step + kAhead * side);
  for (int64_t c = 0; c < side; ++c) __builtin_prefetch(to + c * to_step + kAhead * side, 1);
}

#if HWY_TARGET == HWY_SCALAR
// The compiler's own vectors are there on every processor.
void Turn(const float* from, int64_t from_step, float* to, int64_t to_step) {
  constexpr int64_t kSide = Square<float>::kSide;
  constexpr auto kBytes = static_cast<int64_t>(sizeof(float));
  alignas(64) float square[kFloatSquare][kFloatSquare];
  for (int64_t r = 0; r < kFloatSquare; ++r) std::memcpy(square[r], from + r * from_step, sizeof square[r]);
  for (int64_t c = 0; c < kFloatSquare; c += kSide) {
    for (int64_t r = 0; r < kFloatSquare; r += kSide) {
      Square<float>::Turn(reinterpret_cast<const char*>(&square[r][c]), kFloatSquare * kBytes,
                          reinterpret_cast<char*>(to + c * to_step + r), to_step * kBytes);
    }
  }
}

void TurnShort(const char* from, int64_t from_step, char* to, int64_t to_step) {
  TurnBySquares<uint16_t>(from, from_step, to, to_step, kHalfSquare, kHalfSquare);
}
#elif HWY_TARGET <= HWY_AVX3
// Sixteen rows of sixteen, four at a time: block i of rows[g][k] has column 4 * i + k of the g-th four.
using Line = __m512i;

HWY_ATTR inline void TurnFour(Line a, Line b, Line c, Line d, Line (&to)[4]) {
  const Line low_even = _mm512_unpacklo_epi32(a, c), high_even = _mm512_unpackhi_epi32(a, c);
  const Line low_odd = _mm512_unpacklo_epi32(b, d), high_odd = _mm512_unpackhi_epi32(b, d);
  to[0] = _mm512_unpacklo_epi32(low_even, low_odd), to[1] = _mm512_unpackhi_epi32(low_even, low_odd);
  to[2] = _mm512_unpacklo_epi32(high_even, high_odd), to[3] = _mm512_unpackhi_epi32(high_even, high_odd);
}

// store(block, k, column)
template <class Store>
HWY_ATTR HWY_INLINE void StoreColumns(const Line (&rows)[4][4], const Store& store) {
  constexpr int kLowerHalves = 0x44, kUpperHalves = 0xee, kEven = 0x88, kOdd = 0xdd;
  HWY_UNROLL(4)
  for (int k = 0; k < 4; ++k) {
    const Line a = _mm512_shuffle_i32x4(rows[0][k], rows[1][k], kLowerHalves),
               b = _mm512_shuffle_i32x4(rows[2][k], rows[3][k], kLowerHalves),
               c = _mm512_shuffle_i32x4(rows[0][k], rows[1][k], kUpperHalves),
               d = _mm512_shuffle_i32x4(rows[2][k], rows[3][k], kUpperHalves);
    store(0, k, _mm512_shuffle_i32x4(a, b, kEven)), store(1, k, _mm512_shuffle_i32x4(a, b, kOdd));
    store(2, k, _mm512_shuffle_i32x4(c, d, kEven)), store(3, k, _mm512_shuffle_i32x4(c, d, kOdd));
  }
}

HWY_ATTR void Turn(const float* from, int64_t from_step, float* to, int64_t to_step) {
  Foresee(from, from_step, to, to_step, kFloatSquare);
  Line rows[4][4];
  const auto row = [&](int64_t r) HWY_ATTR { return _mm512_loadu_si512(from + r * from_step); };
  HWY_UNROLL(4)
  for (int g = 0; g < 4; ++g) TurnFour(row(4 * g), row(4 * g + 1), row(4 * g + 2), row(4 * g + 3), rows[g]);
  StoreColumns(rows, [&](int64_t block, int64_t k, Line column)
                         HWY_ATTR { _mm512_storeu_si512(to + (4 * block + k) * to_step, column); });
}

// Pairs of rows are rows of pairs: of the lower and the upper four of each eight columns.
HWY_ATTR void TurnShort(const char* from, int64_t from_step, char* to, int64_t to_step) {
  Foresee(from, from_step, to, to_step, static_cast<int64_t>(sizeof(Line)));
  Line lower[4][4], upper[4][4];
  const auto row = [&](int64_t r) HWY_ATTR { return _mm512_loadu_si512(from + r * from_step); };
  HWY_UNROLL(4)
  for (int g = 0; g < 4; ++g) {
    Line low[4], high[4];
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      const Line even = row(8 * g + 2 * i), odd = row(8 * g + 2 * i + 1);
      low[i] = _mm512_unpacklo_epi16(even, odd), high[i] = _mm512_unpackhi_epi16(even, odd);
    }
    TurnFour(low[0], low[1], low[2], low[3], lower[g]);
    TurnFour(high[0], high[1], high[2], high[3], upper[g]);
  }
  const auto store = [&](int64_t column, Line line)
                         HWY_ATTR { _mm512_storeu_si512(to + column * to_step, line); };
  StoreColumns(lower, [&](int64_t block, int64_t k, Line line) HWY_ATTR { store(8 * block + k, line); });
  StoreColumns(upper, [&](int64_t block, int64_t k, Line line) HWY_ATTR { store(8 * block + 4 + k, line); });
}
#else
void TurnShort(const char* from, int64_t from_step, char* to, int64_t to_step) {
  TurnBySquares<uint16_t>(from, from_step, to, to_step, kHalfSquare, kHalfSquare);
}

using D = hn::CappedTag<float, 8>;
using V = hn::Vec<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Four rows: columns i of each block of four elements are the i-th result's blocks.
HWY_INLINE void TurnBlocks(const float* from, V* to) {
  const D d;
  const V a = hn::Load(d, from), b = hn::Load(d, from + kFloatSquare),
          c = hn::Load(d, from + 2 * kFloatSquare), e = hn::Load(d, from + 3 * kFloatSquare);
  const V low_even = hn::InterleaveLower(d, a, c), high_even = hn::InterleaveUpper(d, a, c);
  const V low_odd = hn::InterleaveLower(d, b, e), high_odd = hn::InterleaveUpper(d, b, e);
  to[0] = hn::InterleaveLower(d, low_even, low_odd), to[1] = hn::InterleaveUpper(d, low_even, low_odd);
  to[2] = hn::InterleaveLower(d, high_even, high_odd), to[3] = hn::InterleaveUpper(d, high_even, high_odd);
}

// As many rows and columns as a vector has elements.
HWY_INLINE void TurnVectors(const float* from, V* to) {
  if constexpr (kLanes == 4) return TurnBlocks(from, to);
  const D d;
  V upper[4], lower[4];
  TurnBlocks(from, upper), TurnBlocks(from + 4 * kFloatSquare, lower);
  HWY_UNROLL(4)
  for (int64_t k = 0; k < 4; ++k) {
    to[k] = hn::ConcatLowerLower(d, lower[k], upper[k]);
    to[k + 4] = hn::ConcatUpperUpper(d, lower[k], upper[k]);
  }
}

HWY_ATTR void Turn(const float* from, int64_t from_step, float* to, int64_t to_step) {
  Foresee(from, from_step, to, to_step, kFloatSquare);
  const D d;
  HWY_ALIGN float square[kFloatSquare * kFloatSquare];
  for (int64_t r = 0; r < kFloatSquare; ++r) {
    for (int64_t c = 0; c < kFloatSquare; c += kLanes)
      hn::Store(hn::LoadU(d, from + r * from_step + c), d, square + r * kFloatSquare + c);
  }
  for (int64_t c = 0; c < kFloatSquare; c += kLanes) {
    V turned[kFloatSquare];
    HWY_UNROLL(4)
    for (int64_t r = 0; r < kFloatSquare; r += kLanes) TurnVectors(square + r * kFloatSquare + c, turned + r);
    HWY_UNROLL(8)
    for (int64_t k = 0; k < kLanes; ++k) {  // a line at once
      HWY_UNROLL(4)
      for (int64_t r = 0; r < kFloatSquare; r += kLanes)
        hn::StoreU(turned[r + k], d, to + (c + k) * to_step + r);
    }
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(Turn);
BELAY_SIMD_EXPORT(TurnShort);
TurnFloatSquare BestTurnFloatSquare() { return BELAY_SIMD_CALL(Turn); }
TurnHalfSquare BestTurnHalfSquare() { return BELAY_SIMD_CALL(TurnShort); }
}  // namespace belay::ops
#endif
