#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quant/quant_loops.cc"
#include "ops/quant/quant_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

// To the nearest whole number, halves to the even one; right for sizes below 2^22, beyond which the
// range cuts off anyway or there are no fractions.
inline float Whole(float x) {
  constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23
  const bool small = x < 4194304.0f && x > -4194304.0f;
  return small ? (x + kRounder) - kRounder : x;
}

inline float Kept(float x, QuantRange range) {
  const float low = x < range.least ? range.least : x;
  return low > range.most ? range.most : low;
}

void Quantize(float* __restrict__ out, const float* __restrict__ x, const float* __restrict__ scale,
              const float* __restrict__ zero, int64_t step, int64_t n, QuantRange range) {
  if (step == 0) {
    const float s = *scale, z = *zero;
    for (int64_t i = 0; i < n; ++i) out[i] = Kept(Whole(x[i] / s) + z, range);
    return;
  }
  for (int64_t i = 0; i < n; ++i) out[i] = Kept(Whole(x[i] / scale[i]) + zero[i], range);
}

void Requantize(float* __restrict__ out, const float* __restrict__ x,
                const float* __restrict__ scale, const float* __restrict__ zero, int64_t step,
                int64_t n, QuantRange range) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = Kept(Whole(x[i] * scale[i * step]) + zero[i * step], range);
}

void Dequantize(float* __restrict__ out, const float* __restrict__ x,
                const float* __restrict__ scale, const float* __restrict__ zero, int64_t step,
                int64_t n, QuantRange) {
  for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - zero[i * step]) * scale[i * step];
}

constexpr QuantLoops kQuantLoops{&Quantize, &Requantize, &Dequantize};
const QuantLoops& QuantLoopsHere() { return kQuantLoops; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(QuantLoopsHere);
const QuantLoops& BestQuantLoops() { return BELAY_SIMD_CALL(QuantLoopsHere)(); }
}  // namespace belay::ops
#endif
