// Functions of one operand that every type has, and the roundings of floats: one line each. The loops
// are compiled for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/unary.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_OPS_UNARY_ONCE
#define BELAY_OPS_UNARY_ONCE
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/loops.h"
#include "ops/elementwise/unlisted.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "tensor/codes.h"

// clang-format off
#define BELAY_UNARY_OPERATORS(X)                          \
  X(Neg, -a, uint8_t)                                     \
  X(Square, a* a, uint8_t)                                \
  X(Sign, a != a ? a : static_cast<T>((a > 0) - (a < 0)), int8_t)
#define BELAY_ROUNDINGS(X)                                \
  X(Floor, std::floor(a))                                 \
  X(Ceil, std::ceil(a))                                   \
  X(Round, std::nearbyint(a))                             \
  X(Trunc, std::trunc(a))
#define BELAY_FLOAT_OPERATORS(X)                          \
  X(Sqrt, std::sqrt(a))                                   \
  X(Rsqrt, 1 / std::sqrt(a))                              \
  X(Reciprocal, 1 / a)
// clang-format on
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

#define BELAY_DEFINE_ALL(Name, value) BELAY_UNARY_LOOP(Name, value) BELAY_LOOPS_OF_ALL(Name)
#define BELAY_DEFINE_OF_BYTES(Name, value, SignedByte) \
  BELAY_UNARY_LOOP(Name, value)                        \
  BELAY_LOOPS_OF_ALL_AND_BYTES(Name, SignedByte)
#define BELAY_DEFINE_FLOAT(Name, value) BELAY_UNARY_LOOP(Name, value) BELAY_LOOPS_OF_FLOATS(Name)
BELAY_UNARY_OPERATORS(BELAY_DEFINE_OF_BYTES)
BELAY_ROUNDINGS(BELAY_DEFINE_FLOAT)
BELAY_FLOAT_OPERATORS(BELAY_DEFINE_FLOAT)

BELAY_TRUTH_LOOP_OF_ONE(LogicalNot, a == 0)
BELAY_LOOPS_OF_TRUTHS(LogicalNot, &LogicalNotLoop<uint8_t>)
BELAY_DEFINE_OF_BYTES(Abs, a > 0 ? a : 0 - a, int8_t)
BELAY_DEFINE_OF_BYTES(Relu, a < 0 ? T{0} : a, int8_t)
BELAY_DEFINE_FLOAT(Angle, a != a ? a : a < 0 ? static_cast<T>(std::numbers::pi) : T{0})
BELAY_DEFINE_ALL(LeakyRelu, a > 0 ? a : p * a)
BELAY_DEFINE_ALL(Threshold, a > p ? a : q)
BELAY_DEFINE_ALL(Shrink, a<-p ? a + q : a> p ? a - q : T{0})
BELAY_DEFINE_FLOAT(IsNan, a != a)
BELAY_DEFINE_FLOAT(IsInf, ((a > std::numeric_limits<T>::max()) & (p != 0)) |
                              ((a < std::numeric_limits<T>::lowest()) & (q != 0)))
BELAY_DEFINE_FLOAT(IsFinite, std::fabs(a) <= std::numeric_limits<T>::max())
BELAY_DEFINE_FLOAT(NanToNum, a != a                                 ? p
                             : a > std::numeric_limits<T>::max()    ? q
                             : a < std::numeric_limits<T>::lowest() ? r
                                                                    : a)

// p: ten to the number of places, q: they lie before the point. What is too large to scale has no fraction.
BELAY_DEFINE_FLOAT(RoundTo, q != 0                                              ? std::nearbyint(a / p) * p
                            : std::fabs(a * p) <= std::numeric_limits<T>::max() ? std::nearbyint(a * p) / p
                                                                                : a)

BELAY_UNARY_LOOP(BitwiseNot, ~a)
BELAY_LOOPS_OF_INTS(BitwiseNot)

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {

#define BELAY_EXPORT_LOOPS(Name, ...) BELAY_SIMD_EXPORT(Name##Loops);
BELAY_UNARY_OPERATORS(BELAY_EXPORT_LOOPS)
BELAY_ROUNDINGS(BELAY_EXPORT_LOOPS)
BELAY_FLOAT_OPERATORS(BELAY_EXPORT_LOOPS)
BELAY_SIMD_EXPORT(AbsLoops);
BELAY_SIMD_EXPORT(ReluLoops);
BELAY_SIMD_EXPORT(AngleLoops);
BELAY_SIMD_EXPORT(LogicalNotLoops);
BELAY_SIMD_EXPORT(LeakyReluLoops);
BELAY_SIMD_EXPORT(ThresholdLoops);
BELAY_SIMD_EXPORT(ShrinkLoops);
BELAY_SIMD_EXPORT(IsNanLoops);
BELAY_SIMD_EXPORT(IsInfLoops);
BELAY_SIMD_EXPORT(IsFiniteLoops);
BELAY_SIMD_EXPORT(NanToNumLoops);
BELAY_SIMD_EXPORT(RoundToLoops);
BELAY_SIMD_EXPORT(BitwiseNotLoops);

namespace kernels {

#define BELAY_DEFINE_KERNEL(Name, ...)                                                                   \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& out) {                        \
    PlanPointwise(plan, With(BELAY_SIMD_CALL(Name##Loops)(), &Complex##Name), compute, {self}, {}, out); \
  }
BELAY_UNARY_OPERATORS(BELAY_DEFINE_KERNEL)
BELAY_FLOAT_OPERATORS(BELAY_DEFINE_KERNEL)

void Relu(Plan& plan, DType compute, const Operand& self, const Operand& out) {
  PlanPointwise(plan, BELAY_SIMD_CALL(ReluLoops)(), compute, {self}, {}, out);
}

// Of a complex operand the result is real, and computed as complex.
void Abs(Plan& plan, DType, const Operand& self, const Operand& out) {
  PlanPointwise(plan, With(BELAY_SIMD_CALL(AbsLoops)(), &ComplexAbs), self.dtype(), {self}, {}, out);
}
void Angle(Plan& plan, DType compute, const Operand& self, const Operand& out) {
  const DType type = IsComplex(self.dtype()) ? self.dtype() : compute;
  PlanPointwise(plan, With(BELAY_SIMD_CALL(AngleLoops)(), &ComplexAngle), type, {self}, {}, out);
}

// Whole numbers stay as they are.
#define BELAY_DEFINE_ROUNDING(Name, value)                                         \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& out) {  \
    if (!IsFloat(compute)) return Copy(plan, compute, self, out);                  \
    PlanPointwise(plan, BELAY_SIMD_CALL(Name##Loops)(), compute, {self}, {}, out); \
  }
BELAY_ROUNDINGS(BELAY_DEFINE_ROUNDING)

void LogicalNot(Plan& plan, DType, const Operand& self, const Operand& out) {
  PlanPointwise(plan, With(BELAY_SIMD_CALL(LogicalNotLoops)(), &ComplexLogicalNot), self.dtype(), {self}, {},
                out);
}

// The complement of a truth value is the other one.
void BitwiseNot(Plan& plan, DType compute, const Operand& self, const Operand& out) {
  if (compute == DType::kBool) return LogicalNot(plan, compute, self, out);
  PlanPointwise(plan, BELAY_SIMD_CALL(BitwiseNotLoops)(), compute, {self}, {}, out);
}

void IsNan(Plan& plan, DType, const Operand& self, const Operand& out) {
  PlanPointwise(plan, BELAY_SIMD_CALL(IsNanLoops)(), FloatTypeOf(self.dtype()), {self}, {}, out);
}

void IsInf(Plan& plan, DType, const Operand& self, bool positive, bool negative, const Operand& out) {
  LoopAttributes signs({positive ? 1.0 : 0.0, negative ? 1.0 : 0.0});
  PlanPointwise(plan, BELAY_SIMD_CALL(IsInfLoops)(), FloatTypeOf(self.dtype()), {self}, signs, out);
}
void IsPosInf(Plan& plan, DType compute, const Operand& self, const Operand& out) {
  IsInf(plan, compute, self, true, false, out);
}
void IsNegInf(Plan& plan, DType compute, const Operand& self, const Operand& out) {
  IsInf(plan, compute, self, false, true, out);
}

void IsFinite(Plan& plan, DType, const Operand& self, const Operand& out) {
  PlanPointwise(plan, With(BELAY_SIMD_CALL(IsFiniteLoops)(), &ComplexIsFinite), FloatTypeOf(self.dtype()),
                {self}, {}, out);
}

void NanToNum(Plan& plan, DType compute, const Operand& self, double nan, double positive, double negative,
              const Operand& out) {
  if (!IsFloat(compute)) return Copy(plan, compute, self, out);
  PlanPointwise(plan, BELAY_SIMD_CALL(NanToNumLoops)(), compute, {self},
                LoopAttributes({nan, positive, negative}), out);
}

void RoundDecimals(Plan& plan, DType compute, const Operand& self, int64_t decimals, const Operand& out) {
  constexpr int64_t kMost = 38;  // ten to it is a float
  const bool whole = !IsFloat(compute);
  if (decimals == 0 || (whole && decimals > 0)) return Round(plan, compute, self, out);
  if (whole || std::abs(decimals) > kMost) {
    Fail(
        tensor::kInvalidArgument, "op-round-decimals",
        "decimals is {} for {}; whole numbers are not rounded to places before the point, others to 38 at most",
        decimals, NameOf(compute));
  }
  PlanPointwise(plan, BELAY_SIMD_CALL(RoundToLoops)(), compute, {self},
                LoopAttributes({std::pow(10.0, std::abs(decimals)), decimals < 0 ? 1.0 : 0.0}), out);
}

void LeakyRelu(Plan& plan, DType compute, const Operand& self, const Scalar& slope, const Operand& out) {
  PlanPointwise(plan, BELAY_SIMD_CALL(LeakyReluLoops)(), compute, {self}, LoopAttributes({&slope}), out);
}

void Threshold(Plan& plan, DType compute, const Operand& self, const Scalar& threshold, const Scalar& value,
               const Operand& out) {
  PlanPointwise(plan, BELAY_SIMD_CALL(ThresholdLoops)(), compute, {self},
                LoopAttributes({&threshold, &value}), out);
}

void Shrink(Plan& plan, DType compute, const Operand& self, double lambd, double bias, const Operand& out) {
  PlanPointwise(plan, BELAY_SIMD_CALL(ShrinkLoops)(), compute, {self}, LoopAttributes({lambd, bias}), out);
}
void Softshrink(Plan& plan, DType compute, const Operand& self, const Scalar& lambd, const Operand& out) {
  Shrink(plan, compute, self, lambd.ToDouble(), lambd.ToDouble(), out);
}
void Hardshrink(Plan& plan, DType compute, const Operand& self, const Scalar& lambd, const Operand& out) {
  Shrink(plan, compute, self, lambd.ToDouble(), 0, out);
}

}  // namespace kernels
}  // namespace belay::ops
#endif  // HWY_ONCE
