#include "ops/elementwise/gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/elementwise/loops.h"

namespace belay::ops {
namespace {

template <class T>
T Logistic(T x) {
  return 1 / (1 + std::exp(-x));
}
template <class T>
T SignOf(T x) {
  return static_cast<T>((x > 0) - (x < 0));
}
// log(1 + exp(x)) that does not overflow
template <class T>
T LogOnePlusExp(T x) {
  return std::max(x, T{0}) + std::log1p(std::exp(-std::fabs(x)));
}

template <class T>
T MishSlope(T x) {
  const T inner = std::tanh(LogOnePlusExp(x));
  return inner + x * Logistic(x) * (1 - inner * inner);
}

template <class T>
T SwishSlope(T x, T scale) {
  const T gate = Logistic(scale * x);
  return gate * (1 + scale * x * (1 - gate));
}

template <class T>
T LogitSlope(T x, T eps) {
  const T least = std::max(eps, T{0});
  if (x >= least && x <= 1 - least) return 1 / (x * (1 - x));
  return eps < 0 || x != x ? std::numeric_limits<T>::quiet_NaN() : T{0};
}

// Logarithms end at -100.
template <class T>
T CrossEntropy(T a, T b) {
  return -(b * std::max(std::log(a), T{-100}) + (1 - b) * std::max(std::log1p(-a), T{-100}));
}

}  // namespace

#define BELAY_UNARY_FUNCTION(Name, value) BELAY_UNARY_LOOP(Name, value) BELAY_LOOPS_OF_FLOATS(Name)
#define BELAY_BINARY_FUNCTION(Name, value) BELAY_BINARY_LOOP(Name, value) BELAY_LOOPS_OF_FLOATS(Name)
#define BELAY_TERNARY_FUNCTION(Name, value) BELAY_TERNARY_LOOP(Name, value) BELAY_LOOPS_OF_FLOATS(Name)
#define BELAY_TERNARY_OF_ALL(Name, value) BELAY_TERNARY_LOOP(Name, value) BELAY_LOOPS_OF_ALL(Name)

// clang-format off
BELAY_UNARY_FUNCTION(Shortening, a > p ? p / (a + T(1e-7)) : T{1})
BELAY_UNARY_FUNCTION(InverseDeviation, 1 / std::sqrt(a + p))

BELAY_BINARY_FUNCTION(SigmoidGrad, b * a * (1 - a))
BELAY_BINARY_FUNCTION(TanhGrad, b * (1 - a * a))
BELAY_BINARY_FUNCTION(HardSwishGrad, b <= -3 ? T{0} : b >= 3 ? a : a * (b / 3 + T(0.5)))
BELAY_BINARY_FUNCTION(HardSigmoidGrad, p * b + q > 0 && p * b + q < 1 ? a * p : T{0})
BELAY_BINARY_FUNCTION(HardtanhGrad, a > p && a < q ? b : T{0})
BELAY_BINARY_FUNCTION(SwishGrad, a * SwishSlope(b, p))
BELAY_BINARY_FUNCTION(LeakyReluGrad, b > 0 ? a : a * p)
BELAY_BINARY_FUNCTION(EluGrad, b > 0 ? a * q : a * r * p * q * std::exp(b * r))
BELAY_BINARY_FUNCTION(EluGradOfResult, b > 0 ? a * q : a * r * (b + p * q))
BELAY_BINARY_FUNCTION(MishGrad, a * MishSlope(b))
BELAY_BINARY_FUNCTION(ShrinkGrad, std::fabs(b) <= p ? T{0} : a)
BELAY_BINARY_FUNCTION(LogSigmoidGrad, a * Logistic(-b))
BELAY_BINARY_FUNCTION(LogitGrad, a * LogitSlope(b, p))

BELAY_BINARY_FUNCTION(SoftplusGrad, p * b > q ? a : a * Logistic(p * b))
BELAY_TERNARY_FUNCTION(GatedGrad, a * b * Logistic(c) * Logistic(-c))
BELAY_BINARY_FUNCTION(DivergenceGrad, b > 0 ? -p * a * b : T{0})
BELAY_BINARY_FUNCTION(LogDivergenceGrad, -p * a * std::exp(b))

BELAY_BINARY_FUNCTION(SquaredError, (a - b) * (a - b))
BELAY_BINARY_FUNCTION(AbsoluteError, std::fabs(a - b))
BELAY_BINARY_FUNCTION(SmoothError, std::fabs(a - b) < p ? (a - b) * (a - b) / (2 * p) : std::fabs(a - b) - p / 2)
BELAY_BINARY_FUNCTION(Divergence, b > 0 ? b * (std::log(b) - a) : T{0})
BELAY_BINARY_FUNCTION(LogDivergence, std::exp(b) * (b - a))
BELAY_BINARY_FUNCTION(SoftMargin, LogOnePlusExp(-a * b))
BELAY_BINARY_FUNCTION(CrossEntropy, CrossEntropy(a, b))
BELAY_TERNARY_FUNCTION(LogitsCrossEntropy, (1 - b) * a + (1 + (c - 1) * b) * LogOnePlusExp(-a))

BELAY_TERNARY_FUNCTION(SquaredErrorGrad, p * c * 2 * (a - b))
BELAY_TERNARY_FUNCTION(AbsoluteErrorGrad, p * c * SignOf(a - b))
BELAY_TERNARY_FUNCTION(SmoothErrorGrad, p * c * (std::fabs(a - b) < q ? (a - b) / q : SignOf(a - b)))
BELAY_TERNARY_FUNCTION(CrossEntropyGrad, p * c * (a - b) / std::max(a * (1 - a), T(1e-12)))
BELAY_TERNARY_FUNCTION(SoftMarginGrad, -p * c * b * Logistic(-a * b))

BELAY_BINARY_FUNCTION(Gated, a * Logistic(b))
BELAY_TERNARY_OF_ALL(PlusProduct, a + b * c)
BELAY_TERNARY_OF_ALL(MinusProduct, a - b * c)
BELAY_TERNARY_FUNCTION(PlusQuotient, a + b / c)
// clang-format on

}  // namespace belay::ops
