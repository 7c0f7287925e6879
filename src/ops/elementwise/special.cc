// Functions that are rarer than those of arithmetic and activation: of one or two operands, with the C
// library's exponentials and logarithms.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/loops.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rules.h"
#include "tensor/codes.h"
#include "tensor/promote.h"

namespace belay::ops {
namespace {

// A closed form that is good to three digits, then Newton's method on the tail, which keeps its digits
// near 1.
template <class T>
T InverseErf(T value) {
  constexpr double kShape = 0.147, kPi = std::numbers::pi;
  const double y = std::fabs(static_cast<double>(value));
  if (!(y < 1))
    return y == 1 ? value * std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
  if (y == 0) return value;
  const double log = std::log1p(-y * y), half = 2 / (kPi * kShape) + log / 2;
  double x = std::sqrt(std::sqrt(half * half - log / kShape) - half);
  for (int i = 0; i < 4; ++i) {
    const double excess = y < 0.5 ? std::erf(x) - y : (1 - y) - std::erfc(x);
    x -= excess * std::sqrt(kPi) / 2 * std::exp(x * x);
  }
  return static_cast<T>(value < 0 ? -x : x);
}

template <class T>
T SincOf(T x) {
  const double angle = std::numbers::pi * static_cast<double>(x);
  return x == 0 ? T{1} : static_cast<T>(std::sin(angle) / angle);
}

template <class T>
T LogOdds(T x, T eps) {
  if (eps >= 0) x = x < eps ? eps : x > 1 - eps ? 1 - eps : x;
  return std::log(x / (1 - x));
}

template <class T>
T TimesLog(T a, T b) {
  return a == 0 && b == b ? T{0} : a * std::log(b);
}

template <class T>
T LogOfSum(T a, T b, T log_base) {
  return a == b ? a + T(std::numbers::ln2) / log_base
                : std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b) * log_base)) / log_base;
}

template <class T>
bool CloseNumbers(T a, T b, double relative, double absolute, bool nans) {
  if (a == b) return true;
  if constexpr (std::is_integral_v<T>) {
    using Size = std::make_unsigned_t<T>;
    const Size apart =
        a > b ? static_cast<Size>(a) - static_cast<Size>(b) : static_cast<Size>(b) - static_cast<Size>(a);
    return static_cast<double>(apart) <= absolute + relative * std::fabs(static_cast<double>(b));
  } else {
    if (nans && a != a && b != b) return true;
    return std::isfinite(a) && std::isfinite(b) &&
           std::fabs(a - b) <= static_cast<T>(absolute) + static_cast<T>(relative) * std::fabs(b);
  }
}

template <class T>
T GreatestDivisor(T a, T b) {
  using Size = std::make_unsigned_t<T>;
  Size x = a < 0 ? Size{0} - static_cast<Size>(a) : static_cast<Size>(a);
  Size y = b < 0 ? Size{0} - static_cast<Size>(b) : static_cast<Size>(b);
  while (y != 0) x = std::exchange(y, x % y);
  return static_cast<T>(x);
}

// clang-format off
BELAY_UNARY_LOOP(Erfinv, InverseErf(a)) BELAY_LOOPS_OF_FLOATS(Erfinv)
BELAY_UNARY_LOOP(Sinc, SincOf(a)) BELAY_LOOPS_OF_FLOATS(Sinc)
BELAY_UNARY_LOOP(Logit, LogOdds(a, p)) BELAY_LOOPS_OF_FLOATS(Logit)
BELAY_BINARY_LOOP(TimesLog, TimesLog(a, b)) BELAY_LOOPS_OF_FLOATS(TimesLog)
BELAY_BINARY_LOOP(LogAddPowers, LogOfSum(a, b, p)) BELAY_LOOPS_OF_FLOATS(LogAddPowers)
BELAY_BINARY_LOOP(IsClose, CloseNumbers(a, b, attributes.real[0], attributes.real[1], attributes.real[2] != 0))
BELAY_LOOPS_OF_ALL(IsClose)
BELAY_BINARY_LOOP(Gcd, GreatestDivisor(a, b)) BELAY_LOOPS_OF_INTS(Gcd)
BELAY_TERNARY_LOOP(ScaledSum, (p == 0 ? T{0} : p * a) + q * b * c) BELAY_LOOPS_OF_ALL(ScaledSum)
// clang-format on

}  // namespace

namespace kernels {
namespace {

void LogAdd(Plan& plan, DType compute, const Operand& self, const Operand& other, double log_base,
            const Operand& out) {
  PlanPointwise(plan, With(LogAddPowersLoops(), &ComplexLogAddPowers), compute, {self, other},
                LoopAttributes({log_base}), out);
}

}  // namespace

void Erfinv(Plan& plan, DType compute, const Operand& self, const Operand& out) {
  PlanPointwise(plan, ErfinvLoops(), compute, {self}, {}, out);
}

void Sinc(Plan& plan, DType compute, const Operand& self, const Operand& out) {
  PlanPointwise(plan, With(SincLoops(), &ComplexSinc), compute, {self}, {}, out);
}

void Logit(Plan& plan, DType compute, const Operand& input, double eps, const Operand& out) {
  PlanPointwise(plan, LogitLoops(), compute, {input}, LoopAttributes({eps}), out);
}

void XLogY(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out) {
  PlanPointwise(plan, TimesLogLoops(), compute, {self, other}, {}, out);
}

void LogAddExp(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out) {
  LogAdd(plan, compute, self, other, 1, out);
}

void LogAddExp2(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out) {
  LogAdd(plan, compute, self, other, std::numbers::ln2, out);
}

void LogAddPowers(Plan& plan, DType compute, const Operand& self, const Operand& other, double base,
                  double scale, double shift, const Operand& out) {
  if (scale != 1 || shift != 0) {
    Fail(tensor::kInvalidArgument, "op-log-add-powers", "scale is {} and shift is {}; they are 1 and 0 only",
         scale, shift);
  }
  LogAdd(plan, compute, self, other, base > 0 ? std::log(base) : 1, out);
}

void IsClose(Plan& plan, DType, const Operand& self, const Operand& other, double rtol, double atol,
             bool equalNan, const Operand& out) {
  PlanPointwise(plan, With(IsCloseLoops(), &ComplexIsClose), rules::Common(self, other), {self, other},
                LoopAttributes({rtol, atol, equalNan ? 1.0 : 0.0}), out);
}

void Gcd(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out) {
  PlanPointwise(plan, GcdLoops(), compute, {self, other}, {}, out);
}

// Where beta is 0 self does not matter, not even its NaNs.
void Addr(Plan& plan, DType compute, const Operand& self, const Operand& vec1, const Operand& vec2,
          const Scalar& beta, const Scalar& alpha, const Operand& out) {
  if (vec1.shape().rank() != 1 || vec2.shape().rank() != 1) {
    Fail(tensor::kInvalidArgument, "op-vector", "{} has shape {} and {} has {}; both need one dimension",
         vec1.name, vec1.shape().ToString(), vec2.name, vec2.shape().ToString());
  }
  for (const Scalar* factor : {&beta, &alpha}) {
    if (!tensor::CanCast(factor->dtype(), compute) && !factor->IsWhole()) {
      Fail(tensor::kInvalidArgument, "op-alpha", "a factor is {}, which cannot be converted to {}",
           factor->ToString(), NameOf(compute));
    }
  }
  CheckShape(out, Shape{vec1.shape()[0], vec2.shape()[0]});
  Tensor column = *vec1.tensor;
  column.shape.push_back(1);
  column.strides.push_back(0);
  PlanPointwise(plan, With(ScaledSumLoops(), &ComplexScaledSum), compute,
                {self, {&column, nullptr, vec1.binding, vec1.name}, vec2}, LoopAttributes({&beta, &alpha}),
                out);
}

}  // namespace kernels
}  // namespace belay::ops
