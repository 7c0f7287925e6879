// Functions that the C library computes, and integer ones that do not become vectors: one line each.
#include <cmath>
#include <type_traits>

#include "ops/elementwise/complex.h"
#include "ops/elementwise/functions.h"
#include "ops/elementwise/loops.h"
#include "ops/elementwise/unlisted.h"
#include "ops/kernels.h"

namespace belay::ops {
namespace {

// Nothing below traps: a divisor of 0 gives 0, and the least number divided by -1 wraps.
template <class T>
T Quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::trunc(a / b);
  } else {
    if (b == 0) return 0;
    if (b + 1 == 0 && std::is_signed_v<T>) return 0 - a;
    return a / b;
  }
}

// The remainder has the sign of the dividend,
template <class T>
T Remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == 0 || (b + 1 == 0 && std::is_signed_v<T>)) return 0;
    return a % b;
  }
}

// or that of the divisor.
template <class T>
T Modulo(T a, T b) {
  T rest = Remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <class T>
T FloorQuotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::floor(a / b);
  } else {
    T whole = Quotient(a, b), rest = Remainder(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? whole - 1 : whole;
  }
}

// clang-format off
#define BELAY_LIBM_FUNCTIONS(X)  \
  X(Sinh, std::sinh(a))          \
  X(Cosh, std::cosh(a))          \
  X(Asinh, std::asinh(a))        \
  X(Acosh, std::acosh(a))        \
  X(Atanh, std::atanh(a))        \
  X(Log2, std::log2(a))          \
  X(Log10, std::log10(a))        \
  X(Exp2, std::exp2(a))
#define BELAY_VECTOR_FUNCTIONS(X) \
  X(Sin, std::sin(a))             \
  X(Cos, std::cos(a))             \
  X(Tan, std::tan(a))             \
  X(Asin, std::asin(a))           \
  X(Acos, std::acos(a))           \
  X(Atan, std::atan(a))
#define BELAY_OPERATORS_OF_ALL(X) \
  X(TruncDiv, Quotient(a, b), &TruncDivLoop<float>)      \
  X(FloorDiv, FloorQuotient(a, b), &FloorDivLoop<float>) \
  X(Remainder, Modulo(a, b), BestFunctionLoop(Function::kFloatRemainder)) \
  X(Fmod, Remainder(a, b), BestFunctionLoop(Function::kFloatFmod))
#define BELAY_OPERATORS_OF_INTS(X) \
  X(BitwiseAnd, a& b)              \
  X(BitwiseOr, a | b)              \
  X(BitwiseXor, a ^ b)
// The bits of a byte that are shifted to the left are those of a signed one.
#define BELAY_SHIFTS(X) \
  X(LeftShift, true)    \
  X(RightShift, false)
// clang-format on

#define BELAY_DEFINE_FUNCTION(Name, value) BELAY_UNARY_LOOP(Name, value) BELAY_LOOPS_OF_FLOATS(Name)
// Of i32 by vectors.
#define BELAY_DEFINE_OF_ALL(Name, value, of_floats)     \
  BELAY_BINARY_LOOP(Name, value)                        \
  PointwiseLoops Name##Loops() {                        \
    return {.f32 = of_floats,                           \
            .f64 = &Name##Loop<double>,                 \
            .i32 = BestFunctionLoop(Function::k##Name), \
            .i64 = &Name##Loop<int64_t>,                \
            .u64 = &Name##Loop<uint64_t>};              \
  }
#define BELAY_DEFINE_OF_INTS(Name, value) \
  BELAY_BINARY_LOOP(Name, value)          \
  PointwiseLoops Name##Loops() {          \
    return {.i32 = &Name##Loop<int32_t>,  \
            .i64 = &Name##Loop<int64_t>,  \
            .u64 = &Name##Loop<uint64_t>, \
            .u8 = &Name##Loop<uint8_t>,   \
            .i8 = &Name##Loop<uint8_t>};  \
  }
#define BELAY_DEFINE_SHIFT(Name, of_signed_bytes)                                       \
  PointwiseLoops Name##Loops() {                                                        \
    return {.i32 = BestFunctionLoop(Function::k##Name),                                 \
            .i64 = BestFunctionLoop(Function::k##Name##I64),                            \
            .u64 = BestFunctionLoop(Function::k##Name##U64),                            \
            .u8 = BestFunctionLoop(Function::k##Name##U8),                              \
            .i8 = of_signed_bytes ? BestFunctionLoop(Function::k##Name##U8) : nullptr}; \
  }
BELAY_LIBM_FUNCTIONS(BELAY_DEFINE_FUNCTION)

// Of f32 by vectors.
#define BELAY_DEFINE_VECTOR_FUNCTION(Name, value)                                    \
  BELAY_UNARY_LOOP(Name, value)                                                      \
  PointwiseLoops Name##Loops() {                                                     \
    return {.f32 = BestFunctionLoop(Function::k##Name), .f64 = &Name##Loop<double>}; \
  }
BELAY_VECTOR_FUNCTIONS(BELAY_DEFINE_VECTOR_FUNCTION)

BELAY_BINARY_LOOP(Pow, std::pow(a, b))
PointwiseLoops PowLoops() {
  return {.f32 = BestFunctionLoop(Function::kPow),
          .f64 = &PowLoop<double>,
          .i32 = BestFunctionLoop(Function::kPowI32),
          .i64 = BestFunctionLoop(Function::kPowI64),
          .u64 = BestFunctionLoop(Function::kPowU64)};
}

template <class T>
T Fraction(T a) {
  if constexpr (std::is_floating_point_v<T>) return a - std::trunc(a);
  return T{0};
}

BELAY_OPERATORS_OF_ALL(BELAY_DEFINE_OF_ALL)
BELAY_OPERATORS_OF_INTS(BELAY_DEFINE_OF_INTS)
BELAY_SHIFTS(BELAY_DEFINE_SHIFT)
BELAY_UNARY_LOOP(Erfc, std::erfc(a))
BELAY_LOOPS_OF_FLOATS(Erfc)
BELAY_BINARY_LOOP(Atan2, std::atan2(a, b))
BELAY_LOOPS_OF_FLOATS(Atan2)
BELAY_UNARY_LOOP(Frac, Fraction(a))
BELAY_LOOPS_OF_ALL(Frac)

}  // namespace

namespace kernels {

#define BELAY_DEFINE_UNARY_KERNEL(Name, value)                                    \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& out) { \
    PlanPointwise(plan, Name##Loops(), compute, {self}, {}, out);                 \
  }
#define BELAY_DEFINE_BINARY_KERNEL(Name, ...)                                                           \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out) { \
    PlanPointwise(plan, Name##Loops(), compute, {self, other}, {}, out);                                \
  }
#define BELAY_DEFINE_COMPLEX_KERNEL(Name, value)                                        \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& out) {       \
    PlanPointwise(plan, With(Name##Loops(), &Complex##Name), compute, {self}, {}, out); \
  }
BELAY_LIBM_FUNCTIONS(BELAY_DEFINE_COMPLEX_KERNEL)
BELAY_VECTOR_FUNCTIONS(BELAY_DEFINE_COMPLEX_KERNEL)
BELAY_DEFINE_UNARY_KERNEL(Erfc, )
BELAY_DEFINE_UNARY_KERNEL(Frac, )
BELAY_OPERATORS_OF_ALL(BELAY_DEFINE_BINARY_KERNEL)
BELAY_OPERATORS_OF_INTS(BELAY_DEFINE_BINARY_KERNEL)
BELAY_SHIFTS(BELAY_DEFINE_BINARY_KERNEL)
BELAY_DEFINE_BINARY_KERNEL(Atan2, )

void Pow(Plan& plan, DType compute, const Operand& self, const Operand& exponent, const Operand& out) {
  PlanPointwise(plan, With(PowLoops(), &ComplexPow), compute, {self, exponent}, {}, out);
}

// mode 0: the exact quotient; 1: towards zero; 2: down
void DivMod(Plan& plan, DType compute, const Operand& self, const Operand& other, int64_t mode,
            const Operand& out) {
  if (mode == 1) return TruncDiv(plan, compute, self, other, out);
  if (mode == 2) return FloorDiv(plan, compute, self, other, out);
  RealDiv(plan, compute, self, other, out);
}

}  // namespace kernels
}  // namespace belay::ops
