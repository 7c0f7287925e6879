// Elementary functions that the compiler turns into vectors: no branches and no calls, for f32 to
// about two units in the last place. For f64 they are the C library's. The polynomials go through
// the Chebyshev points of their intervals. Included once per instruction set.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"

#if defined(BELAY_OPS_ELEMENTWISE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_OPS_ELEMENTWISE_MATH_INL_H_
#undef BELAY_OPS_ELEMENTWISE_MATH_INL_H_
#else
#define BELAY_OPS_ELEMENTWISE_MATH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

inline uint32_t BitsOf(float x) { return std::bit_cast<uint32_t>(x); }
inline float FloatOf(uint32_t bits) { return std::bit_cast<float>(bits); }

// (e^r - 1 - r) / r^2 for |r| <= (ln 2) / 2
inline float ExpTail(float r) {
  float t = 1.392692661e-3f * r + 8.363773874e-3f;
  t = t * r + 4.166655011e-2f;
  t = t * r + 1.666657338e-1f;
  return t * r + 0.5f;
}

// x = n ln 2 + r. Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits of the
// sum. ln 2 comes in two parts, the first of so few bits that n times it is exact. 2^n is two factors, as
// it can lie beyond either end of the exponents.
inline float Exp(float x) {
  x = x > 89.5f ? 89.5f : x;
  x = x < -105.0f ? -105.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693145751953125f) - n * 1.42860682e-6f;
  const float value = (ExpTail(r) * r) * r + r + 1.0f;
  const int32_t whole = static_cast<int32_t>(BitsOf(shifted) - 0x4b400000u);
  const int32_t half = whole >> 1;
  const float a = FloatOf(static_cast<uint32_t>(half + 127) << 23);
  const float b = FloatOf(static_cast<uint32_t>(whole - half + 127) << 23);
  return x != x ? x : value * a * b;
}

inline float Expm1(float x) {
  const float near = x < -0.34f ? 0.0f : x > 0.34f ? 0.0f : x;
  const float small = ExpTail(near) * near * near + near;
  const float large = Exp(x) - 1.0f;
  return std::fabs(x) < 0.34f ? small : large;
}

// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = f - f^2 / 2 + f^3 P(f).
inline float Log(float x) {
  const bool tiny = x < std::numeric_limits<float>::min();
  const float scaled = tiny ? x * 8388608.0f : x;
  const uint32_t bits = BitsOf(scaled) - 0x3f3504f3u;  // sqrt(1/2) becomes 0
  const int32_t exponent = static_cast<int32_t>(bits) >> 23;
  const float f = FloatOf((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float e = static_cast<float>(exponent) - (tiny ? 23.0f : 0.0f);
  float t = 6.980701959e-2f * f - 1.149454661e-1f;
  t = t * f + 1.168907114e-1f;
  t = t * f - 1.242403772e-1f;
  t = t * f + 1.424855126e-1f;
  t = t * f - 1.666785097e-1f;
  t = t * f + 2.00007305e-1f;
  t = t * f - 2.499999663e-1f;
  t = t * f + 3.333333112e-1f;
  const float square = f * f;
  const float low = t * f * square + e * 1.42860682e-6f - 0.5f * square;
  const float value = e * 0.693145751953125f + (f + low);
  const float special = x == 0  ? -std::numeric_limits<float>::infinity()
                        : x > 0 ? x
                                : std::numeric_limits<float>::quiet_NaN();
  return x > 0 && x <= std::numeric_limits<float>::max() ? value : special;
}

// The rounding of 1 + x is made good.
inline float Log1p(float x) {
  const float u = 1.0f + x;
  const float value = Log(u) - ((u - 1.0f) - x) / u;
  return u == std::numeric_limits<float>::infinity() ? u : u == 0.0f ? Log(u) : value;
}

inline float Tanh(float x) {
  const float z = x * x;
  float t = 2.292744816e-3f * z - 8.343945516e-3f;
  t = t * z + 2.176891865e-2f;
  t = t * z - 5.395925958e-2f;
  t = t * z + 1.333330356e-1f;
  t = t * z - 3.333333317e-1f;
  const float small = t * z * x + x;
  const float size = std::fabs(x);
  const float large = std::copysign(1.0f - 2.0f / (Exp(2.0f * size) + 1.0f), x);
  return size < 0.625f ? small : x != x ? x : large;
}

// From 1 on 1 - e^P(|x|), where P goes through log(erfc).
inline float Erf(float x) {
  const float z = x * x;
  float s = 7.875875063e-5f * z - 8.016864287e-4f;
  s = s * z + 5.189087423e-3f;
  s = s * z - 2.685421201e-2f;
  s = s * z + 1.128359472e-1f;
  s = s * z - 3.761262667e-1f;
  s = s * z + 1.128379166f;
  const float size = std::fabs(x);
  const float t = size > 4.0f ? 4.0f : size;
  float l = 1.637151415e-6f * t - 4.605804269e-5f;
  l = l * t + 5.968056257e-4f;
  l = l * t - 4.759596293e-3f;
  l = l * t + 2.642113601e-2f;
  l = l * t - 1.100800829e-1f;
  l = l * t - 6.318260516e-1f;
  l = l * t - 1.130233435f;
  l = l * t + 3.201380497e-4f;
  const float large = std::copysign(1.0f - Exp(l), x);
  return size < 1.0f ? s * x : x != x ? x : large;
}

inline double Exp(double x) { return std::exp(x); }
inline double Expm1(double x) { return std::expm1(x); }
inline double Log(double x) { return std::log(x); }
inline double Log1p(double x) { return std::log1p(x); }
inline double Tanh(double x) { return std::tanh(x); }
inline double Erf(double x) { return std::erf(x); }

template <class T>
inline T Sigmoid(T x) {
  return 1 / (1 + Exp(-x));
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();
#endif
