#include "ops/elementwise/complex.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>

namespace belay::ops {
namespace {

using Complex = std::complex<float>;
using Wide = std::complex<double>;

// As torch has it: without what C99 adds for infinite factors.
Complex Times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
Complex Over(Complex a, Complex b) { return Complex(Wide(a) / Wide(b)); }
Complex Truth(bool value) { return value ? 1.0f : 0.0f; }
bool Holds(Complex a) { return a != Complex(); }

Complex ComplexPower(Complex a, Complex b) {
  if (!Holds(b)) return 1.0f;
  if (!Holds(a)) return 0.0f;
  if (b == Complex(2)) return Times(a, a);
  return Complex(std::pow(Wide(a), Wide(b)));
}

// log(1 + a) where a is small too
Wide Log1p(Wide a) {
  const double x = a.real(), y = a.imag();
  return {0.5 * std::log1p(x * (2 + x) + y * y), std::atan2(y, 1 + x)};
}

Wide Expm1(Wide a) {
  const double half = std::sin(a.imag() / 2), grown = std::expm1(a.real());
  return {grown * std::cos(a.imag()) - 2 * half * half, (grown + 1) * std::sin(a.imag())};
}

bool IsNan(Complex a) { return std::isnan(a.real()) || std::isnan(a.imag()); }

// |a - b| <= absolute + relative * |b|
bool CloseComplex(Complex a, Complex b, double relative, double absolute, bool nans) {
  if (a == b || (nans && IsNan(a) && IsNan(b))) return true;
  const double apart = std::abs(Wide(a) - Wide(b));
  return std::isfinite(apart) && apart <= absolute + relative * std::abs(Wide(b));
}

// log(e^a + e^b), where both may be large
Wide LogOfComplexSum(Wide a, Wide b) {
  if (std::isnan(a.real()) || a.real() > b.real()) std::swap(a, b);
  const double most = b.real();
  if (std::isfinite(most) || std::isnan(most)) return b + Log1p(std::exp(a - b));
  if (most < 0) return b;
  const double other = a.real() < most ? 0 : 1;  // of two that are infinite the directions are added
  return {most, std::arg(std::polar(1.0, b.imag()) + std::polar(other, a.imag()))};
}

}  // namespace

#define BELAY_COMPLEX_HEAD(Name)                                                                      \
  void Complex##Name(void* out, const void* const* in, const LoopAttributes& attributes, int64_t n) { \
    [[maybe_unused]] const Complex p(static_cast<float>(attributes.real[0]),                          \
                                     static_cast<float>(attributes.imaginary[0]));                    \
    auto* o = static_cast<Complex*>(out);                                                             \
    const auto* x = static_cast<const Complex*>(in[0]);

#define BELAY_COMPLEX_1(Name, value)   \
  BELAY_COMPLEX_HEAD(Name)             \
  for (int64_t i = 0; i < n; ++i) {    \
    const Complex a = x[i];            \
    [[maybe_unused]] const Wide w = a; \
    o[i] = Complex(value);             \
  }                                    \
  }
#define BELAY_COMPLEX_2(Name, value)                  \
  BELAY_COMPLEX_HEAD(Name)                            \
  const auto* y = static_cast<const Complex*>(in[1]); \
  for (int64_t i = 0; i < n; ++i) {                   \
    const Complex a = x[i], b = y[i];                 \
    o[i] = Complex(value);                            \
  }                                                   \
  }
#define BELAY_COMPLEX_3(Name, value)                  \
  BELAY_COMPLEX_HEAD(Name)                            \
  const auto* y = static_cast<const Complex*>(in[1]); \
  const auto* z = static_cast<const Complex*>(in[2]); \
  for (int64_t i = 0; i < n; ++i) {                   \
    const Complex a = x[i], b = y[i], c = z[i];       \
    o[i] = Complex(value);                            \
  }                                                   \
  }

BELAY_COMPLEX_1(Abs, std::abs(w))
BELAY_COMPLEX_1(Neg, -a)
BELAY_COMPLEX_1(Square, Times(a, a))
BELAY_COMPLEX_1(Sign, Holds(a) ? w / std::abs(w) : Wide())
BELAY_COMPLEX_1(Sqrt, std::sqrt(w))
BELAY_COMPLEX_1(Rsqrt, 1.0 / std::sqrt(w))
BELAY_COMPLEX_1(Reciprocal, 1.0 / w)
BELAY_COMPLEX_1(LogicalNot, Truth(!Holds(a)))
BELAY_COMPLEX_1(IsFinite, Truth(std::isfinite(a.real()) && std::isfinite(a.imag())))
BELAY_COMPLEX_1(Exp, std::exp(w))
BELAY_COMPLEX_1(Exp2, std::exp(w* std::numbers::ln2))
BELAY_COMPLEX_1(Expm1, Expm1(w))
BELAY_COMPLEX_1(Log, std::log(w))
BELAY_COMPLEX_1(Log2, std::log(w) / std::numbers::ln2)
BELAY_COMPLEX_1(Log10, std::log10(w))
BELAY_COMPLEX_1(Log1p, Log1p(w))
BELAY_COMPLEX_1(Sin, std::sin(w))
BELAY_COMPLEX_1(Cos, std::cos(w))
BELAY_COMPLEX_1(Tan, std::tan(w))
BELAY_COMPLEX_1(Asin, std::asin(w))
BELAY_COMPLEX_1(Acos, std::acos(w))
BELAY_COMPLEX_1(Atan, std::atan(w))
BELAY_COMPLEX_1(Sinh, std::sinh(w))
BELAY_COMPLEX_1(Cosh, std::cosh(w))
BELAY_COMPLEX_1(Tanh, std::tanh(w))
BELAY_COMPLEX_1(Asinh, std::asinh(w))
BELAY_COMPLEX_1(Acosh, std::acosh(w))
BELAY_COMPLEX_1(Atanh, std::atanh(w))
BELAY_COMPLEX_1(Sigmoid, 1.0 / (1.0 + std::exp(-w)))
BELAY_COMPLEX_1(Silu, w / (1.0 + std::exp(-w)))
BELAY_COMPLEX_1(Angle, std::arg(w))
BELAY_COMPLEX_1(Sinc, Holds(a) ? std::sin(w* std::numbers::pi) / (w * std::numbers::pi) : Wide(1))
BELAY_COMPLEX_2(Add, a + Times(p, b))
BELAY_COMPLEX_2(Sub, a - Times(p, b))
BELAY_COMPLEX_2(Rsub, b - Times(p, a))
BELAY_COMPLEX_2(Mul, Times(a, b))
BELAY_COMPLEX_2(RealDiv, Over(a, b))
BELAY_COMPLEX_2(Pow, ComplexPower(a, b))
BELAY_COMPLEX_2(Equal, Truth(a == b))
BELAY_COMPLEX_2(NotEqual, Truth(a != b))
BELAY_COMPLEX_2(LogicalAnd, Truth(Holds(a) && Holds(b)))
BELAY_COMPLEX_2(LogicalOr, Truth(Holds(a) || Holds(b)))
BELAY_COMPLEX_2(LogicalXor, Truth(Holds(a) != Holds(b)))
BELAY_COMPLEX_3(Select, Holds(a) ? b : c)
BELAY_COMPLEX_3(AddScaledProduct, a + Times(p, Times(b, c)))
BELAY_COMPLEX_3(AddScaledQuotient, a + Over(Times(p, b), c))
BELAY_COMPLEX_2(IsClose,
                Truth(CloseComplex(a, b, attributes.real[0], attributes.real[1], attributes.real[2] != 0)))
BELAY_COMPLEX_2(LogAddPowers, LogOfComplexSum(Wide(a) * attributes.real[0], Wide(b) * attributes.real[0]) /
                                  attributes.real[0])
BELAY_COMPLEX_3(Interpolate, a + Times(c, b - a))
BELAY_COMPLEX_3(MinusProduct, a - Times(b, c))
BELAY_COMPLEX_3(ScaledSum, (Holds(p) ? Times(p, a) : Complex()) +
                               Times(Complex(static_cast<float>(attributes.real[1]),
                                             static_cast<float>(attributes.imaginary[1])),
                                     Times(b, c)))

}  // namespace belay::ops
