#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/random/deviates.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"
#include "ops/random/deviates-inl.h"

#ifndef BELAY_OPS_DEVIATES_ONCE
#define BELAY_OPS_DEVIATES_ONCE
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/random/deviates.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
// What the compiler makes vectors of; the vectors by hand give the same numbers.

// The rounds stand one after the other, so that the words of several blocks stay in registers.
inline void Words(const Philox& philox, uint64_t first, int64_t blocks, uint32_t* words) {
  const std::array<uint32_t, 2 * Philox::kRounds> keys = philox.Keys();
  const uint64_t low = philox.low(), high = philox.high();
  _Pragma("GCC ivdep") for (int64_t i = 0; i < blocks; ++i) {
    const uint64_t at = low + first + static_cast<uint64_t>(i), above = high + (at < low ? 1 : 0);
    auto x0 = static_cast<uint32_t>(at), x1 = static_cast<uint32_t>(at >> 32),
         x2 = static_cast<uint32_t>(above), x3 = static_cast<uint32_t>(above >> 32);
#define BELAY_ROUND(r)                                                                             \
  {                                                                                                \
    const uint64_t a = uint64_t{Philox::kFactors[0]} * x0, b = uint64_t{Philox::kFactors[1]} * x2; \
    x0 = static_cast<uint32_t>(b >> 32) ^ x1 ^ keys[2 * (r)];                                      \
    x2 = static_cast<uint32_t>(a >> 32) ^ x3 ^ keys[2 * (r) + 1];                                  \
    x1 = static_cast<uint32_t>(b), x3 = static_cast<uint32_t>(a);                                  \
  }
    BELAY_ROUND(0);
    BELAY_ROUND(1);
    BELAY_ROUND(2);
    BELAY_ROUND(3);
    BELAY_ROUND(4);
    BELAY_ROUND(5);
    BELAY_ROUND(6);
    BELAY_ROUND(7);
    BELAY_ROUND(8);
    BELAY_ROUND(9);
#undef BELAY_ROUND
    words[i] = x0, words[kBlocksTogether + i] = x1;
    words[2 * kBlocksTogether + i] = x2, words[3 * kBlocksTogether + i] = x3;
  }
}

// The highest bits of a word; at most 24, which a float holds.
inline float FractionOf(uint32_t word, int shift, float unit) {
  return static_cast<float>(static_cast<int32_t>(word >> shift)) * unit;
}

inline void FractionsOf(const uint32_t* words, int64_t blocks, int bits, Stretch<float> spread, float* out) {
  const float unit = std::ldexp(1.0f, -bits);
  const int shift = 32 - bits;
  _Pragma("GCC ivdep") for (int64_t i = 0; i < blocks; ++i) {
    for (int64_t w = 0; w < 4; ++w)
      out[4 * i + w] = spread(FractionOf(words[w * kBlocksTogether + i], shift, unit));
  }
}

// Sine and cosine of a part of a whole turn: of the distance to the nearest quarter, then turned by that.
inline void Turn(float part, float* sine, float* cosine) {
  const float quarters = 4 * part;
  const auto nearest = static_cast<int32_t>(quarters + 0.5f);
  const float x = (quarters - static_cast<float>(nearest)) * 1.57079633f, square = x * x;
  float s = MulAdd(square, 2.75573192e-6f, -1.98412698e-4f);
  s = MulAdd(s, square, 8.33333333e-3f);
  s = MulAdd(s, square, -1.66666667e-1f);
  s = MulAdd(s * square, x, x);
  float c = MulAdd(square, 2.48015873e-5f, -1.38888889e-3f);
  c = MulAdd(c, square, 4.16666667e-2f);
  c = MulAdd(c, square, -0.5f);
  c = MulAdd(c, square, 1.0f);
  const bool odd = (nearest & 1) != 0;
  const float first = odd ? c : s, second = odd ? s : c;
  *sine = (nearest & 2) != 0 ? -first : first;
  *cosine = ((nearest + 1) & 2) != 0 ? -second : second;
}

inline void NormalsOf(const uint32_t* words, int64_t blocks, Stretch<float> spread, float* out) {
  constexpr int kShift = 8;
  const float unit = std::ldexp(1.0f, -24);
  for (int64_t pair = 0; pair < 2; ++pair) {
    const uint32_t* from = words + 2 * pair * kBlocksTogether;
    float* to = out + 2 * pair;
    _Pragma("GCC ivdep") for (int64_t i = 0; i < blocks; ++i) {
      const float length = std::sqrt(-2 * Log(1 - FractionOf(from[i], kShift, unit)));
      float sine, cosine;
      Turn(FractionOf(from[kBlocksTogether + i], kShift, unit), &sine, &cosine);
      to[4 * i] = spread(length * cosine);
      to[4 * i + 1] = spread(length * sine);
    }
  }
}

// make(words, blocks, numbers) for so many blocks as are drawn at a time.
template <class Make>
void EachPiece(const Philox& philox, uint64_t first, int64_t count, float* out, const Make& make) {
  alignas(64) uint32_t words[kWordsTogether];
  alignas(64) float numbers[kWordsTogether];
  for (int64_t i = 0; i < count; i += kWordsTogether) {
    const int64_t n = std::min(kWordsTogether, count - i), blocks = (n + 3) / 4;
    Words(philox, first + static_cast<uint64_t>(i / 4), blocks, words);
    make(words, blocks, numbers);
    std::copy_n(numbers, n, out + i);
  }
}

inline void Fractions(const Philox& philox, uint64_t first, int64_t count, int bits, Stretch<float> spread,
                      float* out) {
  EachPiece(philox, first, count, out, [&](const uint32_t* words, int64_t blocks, float* numbers) {
    FractionsOf(words, blocks, bits, spread, numbers);
  });
}

inline void Normals(const Philox& philox, uint64_t first, int64_t count, Stretch<float> spread, float* out) {
  EachPiece(philox, first, count, out, [&](const uint32_t* words, int64_t blocks, float* numbers) {
    NormalsOf(words, blocks, spread, numbers);
  });
}
#endif

inline void Below(const uint32_t* words, int64_t blocks, uint64_t limit, uint8_t* out) {
  const auto last = static_cast<uint32_t>(limit - 1);
  const uint32_t any = limit > 0 ? 1 : 0;
  _Pragma("GCC ivdep") for (int64_t i = 0; i < blocks; ++i) {
    for (int64_t w = 0; w < 4; ++w)
      out[4 * i + w] = static_cast<uint8_t>((words[w * kBlocksTogether + i] <= last ? 1u : 0u) & any);
  }
}

inline DeviateLoops LoopsOfDeviates() { return {&Words, &Fractions, &Normals, &Below}; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {

BELAY_SIMD_EXPORT(LoopsOfDeviates);
DeviateLoops BestDeviateLoops() { return BELAY_SIMD_CALL(LoopsOfDeviates)(); }

}  // namespace belay::ops
#endif  // HWY_ONCE
