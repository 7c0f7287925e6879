// Elementary functions that the compiler turns into vectors: no branches and no calls, for f32 to
// about two units in the last place, and the exponentials for f64, too; its others are the C library's. The
// polynomials go through the Chebyshev points of their intervals, or are Taylor's. Included once per
// instruction set.
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

inline uint64_t BitsOf(double x) { return std::bit_cast<uint64_t>(x); }
inline double DoubleOf(uint64_t bits) { return std::bit_cast<double>(bits); }

// a * b + c, rounded once where the processor has that.
inline float MulAdd(float a, float b, float c) {
#if HWY_NATIVE_FMA
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
inline double MulAdd(double a, double b, double c) {
#if HWY_NATIVE_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// (e^r - 1 - r) / r^2 for |r| <= (ln 2) / 2, and z = r^2. Two halves, which the processor computes at a time.
inline float ExpTail(float r, float z) {
  const float high = MulAdd(1.392692661e-3f, z, MulAdd(8.363773874e-3f, r, 4.166655011e-2f));
  return MulAdd(high, z, MulAdd(1.666657338e-1f, r, 0.5f));
}

// x = n ln 2 + r. Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits of the
// sum. ln 2 comes in two parts, the first of so few bits that n times it is exact.
struct Reduced {
  float shifted, r;
  explicit Reduced(float x) {
    shifted = MulAdd(x, 1.44269504f, 12582912.0f);
    const float n = shifted - 12582912.0f;
    r = MulAdd(n, -1.42860682e-6f, MulAdd(n, -0.693145751953125f, x));
  }
  // e^r - 1
  float Rest() const {
    const float z = r * r;
    return MulAdd(ExpTail(r, z), z, r);
  }
  // 2^n, for exponents that a normal number has
  float Power() const { return FloatOf((BitsOf(shifted) << 23) + 0x3f800000u); }
  // e^x, where it is a normal number
  float Normal() const { return FloatOf(BitsOf(Rest() + 1.0f) + (BitsOf(shifted) << 23)); }
};

// 2^n is two factors, as it can lie beyond either end of the exponents. NaN goes through.
inline float Exp(float x) {
  x = x > 89.5f ? 89.5f : x;
  x = x < -105.0f ? -105.0f : x;
  const Reduced reduced(x);
  const uint32_t whole = BitsOf(reduced.shifted) << 23, half = (BitsOf(reduced.shifted) >> 1) << 23;
  return FloatOf(BitsOf(reduced.Rest() + 1.0f) + half) * FloatOf(whole - half + 0x3f800000u);
}

// Of x <= 0, and 0 where that is too small to be a normal number: those cost some processors a hundred times
// as much.
inline float ExpOrZero(float x) {
  const float value = Reduced(x < -87.0f ? -87.0f : x).Normal();
  return x < -87.0f ? 0.0f : x != x ? x : value;
}

// 2^n (e^r - 1) + (2^n - 1), halved on the way, as 2^n can lie beyond the end of the exponents.
inline float Expm1(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -40.0f ? -40.0f : x;
  const Reduced reduced(x);
  const float half = FloatOf((BitsOf(reduced.shifted) << 23) + 0x3f000000u);
  return 2.0f * MulAdd(half, reduced.Rest(), half - 0.5f);
}

// P(f), where log(1 + f) = f - f^2 / 2 + f^3 P(f) for 1 + f in [sqrt(1/2), sqrt(2)).
inline float LogTail(float f) {
  float t = MulAdd(6.980701959e-2f, f, -1.149454661e-1f);
  t = MulAdd(t, f, 1.168907114e-1f);
  t = MulAdd(t, f, -1.242403772e-1f);
  t = MulAdd(t, f, 1.424855126e-1f);
  t = MulAdd(t, f, -1.666785097e-1f);
  t = MulAdd(t, f, 2.00007305e-1f);
  t = MulAdd(t, f, -2.499999663e-1f);
  return MulAdd(t, f, 3.333333112e-1f);
}

// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = f - f^2 / 2 + f^3 P(f).
inline float Log(float x) {
  const bool tiny = x < std::numeric_limits<float>::min();
  const float scaled = tiny ? x * 8388608.0f : x;
  const uint32_t bits = BitsOf(scaled) - 0x3f3504f3u;  // sqrt(1/2) becomes 0
  const int32_t exponent = static_cast<int32_t>(bits) >> 23;
  const float f = FloatOf((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float e = static_cast<float>(exponent) - (tiny ? 23.0f : 0.0f);
  const float square = f * f;
  const float low = MulAdd(-0.5f, square, MulAdd(LogTail(f) * f, square, e * 1.42860682e-6f));
  const float value = MulAdd(e, 0.693145751953125f, f + low);
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

// The same for x in [0, 1], where nothing is rounded on the way: 1 + x = 2^e (1 + f) with e 0 or 1. The
// square of a small f, which need not be a normal number, is only in the middle of a sum.
inline float Log1pOfUnit(float x) {
  const bool upper = x > 0.41421356f;
  const float f = upper ? MulAdd(0.5f, x, -0.5f) : x, rest = MulAdd(LogTail(f), f, -0.5f) * f;
  return (upper ? 0.693145751953125f : 0.0f) + MulAdd(rest, f, f + (upper ? 1.42860682e-6f : 0.0f));
}

// t / (t + 2) of t = e^(2 |x|) - 1; from 9.1 on it is 1.
inline float Tanh(float x) {
  const float size = std::fabs(x);
  const Reduced reduced(2.0f * (size > 9.1f ? 9.1f : size));
  const float power = reduced.Power();
  const float t = MulAdd(power, reduced.Rest(), power - 1.0f);
  return std::copysign(t / (t + 2.0f), x);
}

// From 1 on 1 - e^P(|x|), where P goes through log(erfc).
inline float Erf(float x) {
  const float z = x * x;
  float s = MulAdd(7.875875063e-5f, z, -8.016864287e-4f);
  s = MulAdd(s, z, 5.189087423e-3f);
  s = MulAdd(s, z, -2.685421201e-2f);
  s = MulAdd(s, z, 1.128359472e-1f);
  s = MulAdd(s, z, -3.761262667e-1f);
  s = MulAdd(s, z, 1.128379166f);
  const float size = std::fabs(x);
  const float t = size > 4.0f ? 4.0f : size;
  float l = MulAdd(1.637151415e-6f, t, -4.605804269e-5f);
  l = MulAdd(l, t, 5.968056257e-4f);
  l = MulAdd(l, t, -4.759596293e-3f);
  l = MulAdd(l, t, 2.642113601e-2f);
  l = MulAdd(l, t, -1.100800829e-1f);
  l = MulAdd(l, t, -6.318260516e-1f);
  l = MulAdd(l, t, -1.130233435f);
  l = MulAdd(l, t, 3.201380497e-4f);
  const Reduced reduced(l);
  const float large = std::copysign(1.0f - (reduced.Rest() + 1.0f) * reduced.Power(), x);
  return size < 1.0f ? s * x : large;
}

// The same in f64: what the series leaves out is less than 1e-17 of the result.
struct ReducedWide {
  double shifted, r;
  explicit ReducedWide(double x) {
    shifted = MulAdd(x, 1.4426950408889634, 0x1.8p52);
    const double n = shifted - 0x1.8p52;
    r = MulAdd(n, -7.371002565167799e-13, MulAdd(n, -0x1.62e42fefa2000p-1, x));
  }
  double Rest() const {
    const double z = r * r, w = z * z;
    const double a = MulAdd(1.0 / 6, r, 0.5), b = MulAdd(1.0 / 120, r, 1.0 / 24);
    const double c = MulAdd(1.0 / 5040, r, 1.0 / 720), d = MulAdd(1.0 / 362880, r, 1.0 / 40320);
    const double e = MulAdd(1.0 / 39916800, r, 1.0 / 3628800),
                 f = MulAdd(1.0 / 6227020800, r, 1.0 / 479001600);
    const double low = MulAdd(b, z, a), middle = MulAdd(d, z, c), high = MulAdd(f, z, e);
    return MulAdd(MulAdd(MulAdd(high, w, middle), w, low), z, r);
  }
  uint64_t exponent() const { return BitsOf(shifted) << 52; }
  double Power() const { return DoubleOf(exponent() + 0x3ff0000000000000u); }
};

inline double Exp(double x) {
  double t = x > 710.0 ? 710.0 : x;
  t = t < -746.0 ? -746.0 : t;
  const ReducedWide reduced(t);
  const uint64_t half = (BitsOf(reduced.shifted) >> 1) << 52;
  const double value = DoubleOf(BitsOf(reduced.Rest() + 1.0) + half) *
                       DoubleOf(reduced.exponent() - half + 0x3ff0000000000000u);
  return x != x ? x : value;
}
inline double ExpOrZero(double x) { return Exp(x); }
inline double Expm1(double x) { return std::expm1(x); }
inline double Log(double x) { return std::log(x); }
inline double Log1p(double x) { return std::log1p(x); }
inline double Log1pOfUnit(double x) { return std::log1p(x); }
// From 20 on it is 1.
inline double Tanh(double x) {
  const double size = std::fabs(x);
  const ReducedWide reduced(2.0 * (size > 20.0 ? 20.0 : size));
  const double power = reduced.Power();
  const double t = MulAdd(power, reduced.Rest(), power - 1.0);
  return std::copysign(t / (t + 2.0), x);
}
inline double Erf(double x) { return std::erf(x); }

inline double Sigmoid(double x) { return 1 / (1 + Exp(-x)); }

// From e^-88.3 on e^-x is a normal number or nothing beside 1; below, the result is none.
inline float Sigmoid(float x) {
  constexpr float kLeast = -88.3f;
  float t = x < kLeast ? kLeast : x;
  t = t > 87.0f ? 87.0f : t;
  const float value = 1 / (1 + Reduced(-t).Normal());
  return x < kLeast ? 0.0f : value;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();
#endif
