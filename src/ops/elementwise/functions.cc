// The polynomials are Taylor's, or go through the Chebyshev points of their intervals; what they leave out is
// less than 1e-9 of the result, a fiftieth of a unit in the last place of f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/functions.cc"
#include "ops/elementwise/functions.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/arcs-inl.h"
#include "ops/elementwise/math-inl.h"
#include "ops/elementwise/vectors-inl.h"

#ifndef BELAY_OPS_FUNCTIONS_ONCE
#define BELAY_OPS_FUNCTIONS_ONCE
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

constexpr int64_t kPiece = 256;        // elements
constexpr double kRounder = 0x1.8p52;  // added and taken away again: a whole number
constexpr double kPi = 3.141592653589793;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline double SinNear(double r, double z) {
  double t = 2.7557319223985893e-06 * z - 1.9841269841269841e-04;
  t = t * z + 8.3333333333333332e-03;
  t = t * z - 1.6666666666666666e-01;
  return r * (1 + z * t);
}
inline double CosNear(double z) {
  double t = -2.7557319223985888e-07 * z + 2.4801587301587302e-05;
  t = t * z - 1.3888888888888889e-03;
  t = t * z + 4.1666666666666664e-02;
  return 1 + z * (t * z - 0.5);
}

// x = n pi / 2 + r with |r| <= pi / 4. pi / 2 comes in two parts, the first of so few bits that n times it is
// exact.
struct Quarter {
  double r;
  uint64_t n;
  explicit Quarter(double x) {
    const double shifted = x * (2 / kPi) + kRounder, whole = shifted - kRounder;
    n = BitsOf(shifted);
    r = (x - whole * 1.57079632673412561417) - whole * 6.07710050650619224932e-11;
  }
};

inline double SinOf(double r, uint64_t n) {
  const double z = r * r, value = (n & 1) != 0 ? CosNear(z) : SinNear(r, z);
  return DoubleOf(BitsOf(value) ^ (n & 2) << 62);
}

// (asin(s) / s - 1) / s^2 of z = s^2 <= 1/4
inline double AsinTail(double z) {
  double t = 0.029305238983615034 * z + 0.00544318578358438;
  t = t * z + 0.019306260613223717;
  t = t * z + 0.022132443672417193;
  t = t * z + 0.030397634125565082;
  t = t * z + 0.04464235848514555;
  t = t * z + 0.07500000598828466;
  return t * z + 0.1666666666549509;
}

// asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2)) from a half on
struct Arc {
  bool small;
  double value;  // asin(|x|), or asin of that root
  explicit Arc(double x) {
    const double size = std::fabs(x);
    small = size <= 0.5;
    const double z = small ? x * x : (1 - size) * 0.5;
    const double s = small ? size : std::sqrt(z);
    value = s * (1 + z * AsinTail(z));
  }
};

// (atan(t) / t - 1) / t^2 of z = t^2, |t| <= tan(pi / 8)
inline double AtanTail(double z) {
  double t = -0.0404180895996465 * z + 0.07134654679989887;
  t = t * z - 0.09028865355676748;
  t = t * z + 0.11107485627504642;
  t = t * z - 0.14285612169351858;
  t = t * z + 0.19999998912851236;
  return t * z - 0.3333333333143157;
}

struct Sin {
  static constexpr float kReach = 1e6f;
  static double Near(double x) {
    const Quarter q(x);
    return SinOf(q.r, q.n);
  }
  static float Far(float x) { return std::sin(x); }
};
struct Cos {
  static constexpr float kReach = 1e6f;
  static double Near(double x) {
    const Quarter q(x);
    return SinOf(q.r, q.n + 1);
  }
  static float Far(float x) { return std::cos(x); }
};
struct Tan {
  static constexpr float kReach = 1e6f;
  static double Near(double x) {
    const Quarter q(x);
    return SinOf(q.r, q.n) / SinOf(q.r, q.n + 1);
  }
  static float Far(float x) { return std::tan(x); }
};
struct Asin {
  static constexpr float kReach = kInfinity;
  static double Near(double x) {
    const Arc arc(x);
    return std::copysign(arc.small ? arc.value : kPi / 2 - 2 * arc.value, x);
  }
  static float Far(float x) { return std::asin(x); }
};
struct Acos {
  static constexpr float kReach = kInfinity;
  static double Near(double x) {
    const Arc arc(x);
    const double large = x > 0 ? 2 * arc.value : kPi - 2 * arc.value;
    return arc.small ? kPi / 2 - std::copysign(arc.value, x) : large;
  }
  static float Far(float x) { return std::acos(x); }
};
// atan(x) is pi / 2 - atan(1 / x), and pi / 4 + atan((x - 1) / (x + 1))
struct Atan {
  static constexpr float kReach = kInfinity;
  static double Near(double x) {
    const double size = std::fabs(x);
    const bool large = size > 2.4142135623730950, middle = size > 0.41421356237309505;
    const double above = large ? -1.0 : middle ? size - 1 : size;
    const double below = large ? size : middle ? size + 1 : 1.0;
    const double t = above / below, z = t * t;
    const double base = large ? kPi / 2 : middle ? kPi / 4 : 0.0;
    return std::copysign(base + t * (1 + z * AtanTail(z)), x);
  }
  static float Far(float x) { return std::atan(x); }
};

template <class F>
void Unary(void* out, const void* const* in, const LoopAttributes&, int64_t n) {
  auto* o = static_cast<float*>(out);
  const auto* x = static_cast<const float*>(in[0]);
  alignas(64) float kept[kPiece];  // the result may lie on the operand
  for (int64_t i = 0; i < n; i += kPiece, o += kPiece) {
    const int64_t m = std::min(kPiece, n - i);
    std::copy_n(x + i, m, kept);
    int far = 0;
    for (int64_t k = 0; k < m; ++k) far |= std::fabs(kept[k]) <= F::kReach ? 0 : 1;
    for (int64_t k = 0; k < m; ++k) o[k] = static_cast<float>(F::Near(static_cast<double>(kept[k])));
    for (int64_t k = 0; far != 0 && k < m; ++k) {
      if (!(std::fabs(kept[k]) <= F::kReach)) o[k] = F::Far(kept[k]);
    }
  }
}

// Where products are fused, the functions of arcs-inl.h.
#if HWY_NATIVE_FMA
#define BELAY_ARC_LOOP(Name)                                                                            \
  void Name##Vectors(void* out, const void* const* in, const LoopAttributes& attributes, int64_t n) {   \
    EachVector<ArcMath>(out, in, attributes, n, [](const auto& m, auto x, auto) { return m.Name(x); }); \
  }
BELAY_ARC_LOOP(Asin)
BELAY_ARC_LOOP(Acos)
BELAY_ARC_LOOP(Atan)
constexpr PointwiseLoop kAsin = &AsinVectors, kAcos = &AcosVectors, kAtan = &AtanVectors;
#else
constexpr PointwiseLoop kAsin = &Unary<Asin>, kAcos = &Unary<Acos>, kAtan = &Unary<Atan>;
#endif

// a = 2^e m with m in [sqrt(1/2), sqrt(2)); log(m) = 2 atanh((m - 1) / (m + 1)). a > 0 is no subnormal number
// of f64.
inline double Log2(double a) {
  constexpr uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd, kBias = uint64_t{1023} << 52;
  const uint64_t bits = BitsOf(a) - kRootOfHalf + kBias;
  const double e = DoubleOf((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
  const double m = DoubleOf((bits & 0x000fffffffffffff) + kRootOfHalf);
  const double s = (m - 1) / (m + 1), z = s * s;
  double t = 2.2195308321368668e-01 * z + 2.6230818925253876e-01;
  t = t * z + 3.2059889797532517e-01;
  t = t * z + 4.1219858311113238e-01;
  t = t * z + 5.7707801635558536e-01;
  t = t * z + 9.6179669392597561e-01;
  t = t * z + 2.8853900817779268e+00;
  return e + s * t;
}

inline double Exp2(double t) {
  const double shifted = t + kRounder, f = t - (shifted - kRounder);
  double v = 1.5303701023152426e-05 * f + 1.5469729215637713e-04;
  v = v * f + 1.3333478472326247e-03;
  v = v * f + 9.618025613309008e-03;
  v = v * f + 5.5504109063275894e-02;
  v = v * f + 2.4022651213498245e-01;
  v = v * f + 6.931471805568318e-01;
  v = v * f + 9.999999999595618e-01;
  return v * DoubleOf((BitsOf(shifted) + 1023) << 52);
}

inline bool IsPlainPower(float a, float b) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return a > 0 && a <= kMost && std::fabs(b) <= kMost;
}

inline void Powers(float* o, const float* a, const float* b, int64_t m) {
  int special = 0;
  for (int64_t k = 0; k < m; ++k) special |= IsPlainPower(a[k], b[k]) ? 0 : 1;
  for (int64_t k = 0; k < m; ++k) {
    double t = static_cast<double>(b[k]) * Log2(static_cast<double>(a[k]));
    t = t > 300 ? 300 : t;
    t = t < -300 ? -300 : t;
    o[k] = static_cast<float>(Exp2(t));
  }
  for (int64_t k = 0; special != 0 && k < m; ++k) {
    if (!IsPlainPower(a[k], b[k])) o[k] = std::pow(a[k], b[k]);
  }
}

inline void Squares(float* o, const float* a, int64_t m) {
  for (int64_t k = 0; k < m; ++k) o[k] = a[k] * a[k];
}
inline void Cubes(float* o, const float* a, int64_t m) {
  for (int64_t k = 0; k < m; ++k) {
    const double x = a[k];
    o[k] = static_cast<float>(x * x * x);
  }
}
inline void Fourths(float* o, const float* a, int64_t m) {
  for (int64_t k = 0; k < m; ++k) {
    const double x = static_cast<double>(a[k]) * a[k];
    o[k] = static_cast<float>(x * x);
  }
}

// Pieces of both operands beside each other: the result may lie on one.
template <auto kOfPiece>
void PairsInPieces(void* out, const void* const* in, const LoopAttributes&, int64_t n) {
  auto* o = static_cast<float*>(out);
  const auto* x = static_cast<const float*>(in[0]);
  const auto* y = static_cast<const float*>(in[1]);
  alignas(64) float a[kPiece], b[kPiece];
  for (int64_t i = 0; i < n; i += kPiece, o += kPiece) {
    const int64_t m = std::min(kPiece, n - i);
    std::copy_n(x + i, m, a);
    std::copy_n(y + i, m, b);
    kOfPiece(o, a, b, m);
  }
}

inline void Reciprocals(float* o, const float* a, int64_t m) {
  for (int64_t k = 0; k < m; ++k) o[k] = 1 / a[k];
}
// As powers: of -0 it is 0, of minus infinity infinity.
inline void Roots(float* o, const float* a, int64_t m) {
  for (int64_t k = 0; k < m; ++k) o[k] = a[k] == -kInfinity ? kInfinity : std::sqrt(a[k] + 0.0f);
}
// The sign of what is multiplied with itself an odd number of times stays.
inline void WholePowers(float* o, float* a, const float* b, int64_t m) {
  float signs[kPiece];
  std::copy_n(a, m, signs);
  for (int64_t k = 0; k < m; ++k) a[k] = std::fabs(a[k]);
  Powers(o, a, b, m);
  if (std::fmod(b[0], 2.0f) == 0) return;
  for (int64_t k = 0; k < m; ++k) o[k] = std::copysign(o[k], signs[k]);
}

inline void PowPiece(float* o, float* a, float* b, int64_t m) {
  const float power = b[0];
  int differ = 0;
  for (int64_t k = 0; k < m; ++k) differ |= b[k] == power ? 0 : 1;
  if (differ != 0) return Powers(o, a, b, m);
  if (power == 1) return void(std::copy_n(a, m, o));
  if (power == 2) return Squares(o, a, m);
  if (power == 3) return Cubes(o, a, m);
  if (power == 4) return Fourths(o, a, m);
  if (power == -1) return Reciprocals(o, a, m);
  if (power == 0.5f) return Roots(o, a, m);
  std::trunc(power) == power&& std::isfinite(power) ? WholePowers(o, a, b, m) : Powers(o, a, b, m);
}

// A negative power of an integer is what is left of the fraction.
template <class T>
T IntegerPower(T a, T b) {
  if (b < 0) return a == 1 ? 1 : a + 1 == 0 ? (b % 2 != 0 ? a : T{1}) : T{0};
  T result = 1;
  for (; b != 0; b /= 2, a = a * a) {
    if (b % 2 != 0) result = result * a;
  }
  return result;
}

// All to one small power, which squares and products of vectors make.
template <class T>
void SamePower(T* result, const T* x, int64_t power, int64_t m) {
  T base[kPiece];
  std::copy_n(x, m, base);
  if (power % 2 != 0) std::copy_n(x, m, result);
  for (bool first = power % 2 == 0; (power /= 2) != 0;) {
    for (int64_t k = 0; k < m; ++k) base[k] *= base[k];
    if (power % 2 == 0) continue;
    for (int64_t k = 0; !first && k < m; ++k) result[k] *= base[k];
    if (first) std::copy_n(base, m, result), first = false;
  }
}

template <class T>
void IntegerPowers(void* out, const void* const* in, const LoopAttributes&, int64_t n) {
  auto* o = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(in[0]);
  const auto* y = static_cast<const T*>(in[1]);
  constexpr T kMost = 63;
  for (int64_t i = 0; i < n; i += kPiece, o += kPiece, x += kPiece, y += kPiece) {
    const int64_t m = std::min(kPiece, n - i);
    const T power = y[0];
    T differ = 0;
    for (int64_t k = 0; k < m; ++k) differ |= y[k] ^ power;
    if (differ == 0 && power > 0 && power <= kMost) {
      SamePower(o, x, static_cast<int64_t>(power), m);
    } else {
      for (int64_t k = 0; k < m; ++k) o[k] = IntegerPower(x[k], y[k]);
    }
  }
}

// a by b without traps: by 0 it is 0 with nothing left, by -1 the least number wraps.
struct Division {
  int32_t whole, rest;
  Division(int32_t a, int32_t b) {
    const bool odd = (b == 0) | (b == -1);
    const auto quotient = static_cast<int32_t>(static_cast<double>(a) / static_cast<double>(odd ? 1 : b));
    whole = b == 0 ? 0 : b == -1 ? 0 - a : quotient;
    rest = odd ? 0 : a - quotient * b;
  }
  // What is left has the other sign than b: down it is one less.
  bool steps_down(int32_t b) const { return (rest != 0) & ((rest < 0) != (b < 0)); }
};

struct TruncDiv {
  static int32_t Of(int32_t a, int32_t b) { return Division(a, b).whole; }
};
struct FloorDiv {
  static int32_t Of(int32_t a, int32_t b) {
    const Division d(a, b);
    return d.steps_down(b) ? d.whole - 1 : d.whole;
  }
};
struct Remainder {
  static int32_t Of(int32_t a, int32_t b) {
    const Division d(a, b);
    return d.steps_down(b) ? d.rest + b : d.rest;
  }
};
struct Fmod {
  static int32_t Of(int32_t a, int32_t b) { return Division(a, b).rest; }
};

template <class F>
void Divisions(void* out, const void* const* in, const LoopAttributes&, int64_t n) {
  auto* o = static_cast<int32_t*>(out);
  const auto* x = static_cast<const int32_t*>(in[0]);
  const auto* y = static_cast<const int32_t*>(in[1]);
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) o[i] = F::Of(x[i], y[i]);
}

// By a negative number, too, all is shifted out, as by too large a one.
template <class T, bool kLeft>
void Shifts(void* out, const void* const* in, const LoopAttributes&, int64_t n) {
  using Bits = std::make_unsigned_t<T>;
  constexpr Bits kWidth = sizeof(T) * 8;
  auto* o = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(in[0]);
  const auto* y = static_cast<const Bits*>(in[1]);
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {
    const Bits b = y[i] & (kWidth - 1);
    const auto shifted = static_cast<T>(kLeft ? static_cast<Bits>(static_cast<Bits>(x[i]) << b) : x[i] >> b);
    o[i] = y[i] < kWidth ? shifted : T{0};
  }
}

// What is left of x by y is exact in f64 where the quotient has no more digits than f32 has.
struct FloatFmod {
  static double Of(double x, double y) {
    const double a = std::fabs(x), b = std::fabs(y), quotient = a / b;
    const double nearest = quotient + kRounder - kRounder;
    return std::copysign(a - (nearest > quotient ? nearest - 1 : nearest) * b, x);
  }
  static float Far(float x, float y) { return std::fmod(x, y); }
};
// With the sign of y
struct FloatRemainder {
  static double Of(double x, double y) {
    const double rest = FloatFmod::Of(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }
  static float Far(float x, float y) {
    const float rest = std::fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }
};

inline bool IsPlainDivision(float x, float y) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return std::fabs(y) <= kMost && std::fabs(x) < 16777216.0f * std::fabs(y) && std::fabs(x) <= kMost;
}

template <class F>
void RestPiece(float* o, const float* a, const float* b, int64_t m) {
  int special = 0;
  for (int64_t k = 0; k < m; ++k) special |= IsPlainDivision(a[k], b[k]) ? 0 : 1;
  for (int64_t k = 0; k < m; ++k) o[k] = static_cast<float>(F::Of(a[k], b[k]));
  for (int64_t k = 0; special != 0 && k < m; ++k) {
    if (!IsPlainDivision(a[k], b[k])) o[k] = F::Far(a[k], b[k]);
  }
}

// By Function.
const PointwiseLoop* FunctionLoops() {
  static constexpr PointwiseLoop loops[] = {&Unary<Sin>,
                                            &Unary<Cos>,
                                            &Unary<Tan>,
                                            kAsin,
                                            kAcos,
                                            kAtan,
                                            &PairsInPieces<&PowPiece>,
                                            &Divisions<TruncDiv>,
                                            &Divisions<FloorDiv>,
                                            &Divisions<Remainder>,
                                            &Divisions<Fmod>,
                                            &PairsInPieces<&RestPiece<FloatRemainder>>,
                                            &PairsInPieces<&RestPiece<FloatFmod>>,
                                            &IntegerPowers<int32_t>,
                                            &IntegerPowers<int64_t>,
                                            &IntegerPowers<uint64_t>,
                                            &Shifts<int32_t, true>,
                                            &Shifts<int64_t, true>,
                                            &Shifts<uint64_t, true>,
                                            &Shifts<uint8_t, true>,
                                            &Shifts<int32_t, false>,
                                            &Shifts<int64_t, false>,
                                            &Shifts<uint64_t, false>,
                                            &Shifts<uint8_t, false>};
  return loops;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(FunctionLoops);
PointwiseLoop BestFunctionLoop(Function function) {
  return BELAY_SIMD_CALL(FunctionLoops)()[static_cast<int>(function)];
}
}  // namespace belay::ops
#endif
