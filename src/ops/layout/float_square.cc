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
#else
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
TurnFloatSquare BestTurnFloatSquare() { return BELAY_SIMD_CALL(Turn); }
}  // namespace belay::ops
#endif
