// Arithmetic and comparisons: one line each. The loops are compiled for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/arithmetic.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_OPS_ARITHMETIC_ONCE
#define BELAY_OPS_ARITHMETIC_ONCE
#include <algorithm>

#include "base/error.h"
#include "ops/elementwise/chosen_rows.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/loops.h"
#include "ops/elementwise/unlisted.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "tensor/codes.h"

// clang-format off
// a NaN in either operand is the result; behind it what bytes with a sign are computed as
#define BELAY_BINARY_OPERATORS(X)              \
  X(Add, a + p * b, uint8_t)                      \
  X(Sub, a - p * b, uint8_t)                      \
  X(Rsub, b - p * a, uint8_t)                     \
  X(Mul, a* b, uint8_t)                           \
  X(Maximum, (a > b) | (a != a) ? a : b, int8_t) \
  X(Minimum, (a < b) | (a != a) ? a : b, int8_t) \
  X(SquaredDifference, (a - b) * (a - b), uint8_t) \
  X(PreluOf, a < 0 ? a * b : a, int8_t)
#define BELAY_COMPARISONS(X)                   \
  BELAY_ORDERINGS(X)                           \
  BELAY_TRUTHS(X)
#define BELAY_ORDERINGS(X)                     \
  X(Greater, a > b)                            \
  X(GreaterEqual, a >= b)                      \
  X(Less, a < b)                               \
  X(LessEqual, a <= b)
#define BELAY_TRUTHS(X)                        \
  X(LogicalAnd, (a != 0) & (b != 0), BothTrue) \
  X(LogicalOr, (a != 0) | (b != 0), EitherTrue) \
  X(LogicalXor, (a != 0) != (b != 0), OneTrue) \
  X(Equal, a == b, SameTruth)                  \
  X(NotEqual, a != b, OneTrue)
#define BELAY_TERNARY_OPERATORS(X)             \
  X(Select, a != 0 ? b : c)                    \
  X(AddScaledProduct, a + p * b * c)           \
  X(Interpolate, a + c * (b - a))
// clang-format on
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

#define BELAY_DEFINE_TERNARY(Name, value) \
  BELAY_TERNARY_LOOP(Name, value)         \
  BELAY_LOOPS_OF_ALL_AND_BYTES(Name, int8_t)
#define BELAY_DEFINE_OF_BYTES(Name, value, SignedByte) \
  BELAY_BINARY_LOOP(Name, value)                       \
  BELAY_LOOPS_OF_ONE(Name, value)                      \
  BELAY_LOOPS_OF_ALL_AND_ONE(Name, SignedByte)
BELAY_BINARY_OPERATORS(BELAY_DEFINE_OF_BYTES)
#define BELAY_DEFINE_ORDERING(Name, value) BELAY_TRUTH_LOOP(Name, value) BELAY_LOOPS_OF_TRUTHS(Name, nullptr)
BELAY_ORDERINGS(BELAY_DEFINE_ORDERING)

// Of bytes, any of which but 0 is true. The least of a byte and 1 is a truth value, without a mask.
BELAY_TRUTH_LOOP(BothTrue, std::min<T>(std::min(a, b), 1))
BELAY_TRUTH_LOOP(EitherTrue, std::min<T>(a | b, 1))
BELAY_TRUTH_LOOP(OneTrue, std::min<T>(a, 1) ^ std::min<T>(b, 1))
BELAY_TRUTH_LOOP(SameTruth, std::min<T>(a, 1) ^ std::min<T>(b, 1) ^ 1)
#define BELAY_DEFINE_TRUTH(Name, value, on_truths) \
  BELAY_TRUTH_LOOP(Name, value)                    \
  BELAY_LOOPS_OF_TRUTHS(Name, &on_truths##Loop<uint8_t>)
BELAY_TRUTHS(BELAY_DEFINE_TRUTH)
BELAY_TERNARY_OPERATORS(BELAY_DEFINE_TERNARY)

BELAY_TERNARY_LOOP(Clip, a < b ? (b < c ? b : c) : (a > c ? c : a))
// Between two values for all.
inline void ClipOfRest(void* out, const void* const* in, const LoopAttributes&, int64_t n) {
  auto* o = static_cast<float*>(out);
  const auto* x = static_cast<const float*>(in[0]);
  const float low = *static_cast<const float*>(in[1]), high = *static_cast<const float*>(in[2]);
  const float least = low < high ? low : high;
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {
    const float upper = x[i] > high ? high : x[i];
    o[i] = x[i] < low ? least : upper;
  }
}
PointwiseLoops ClipLoops() { return {BELAY_EACH_LOOP_AND_BYTES(Clip, int8_t), .f32_of_rest = &ClipOfRest}; }

BELAY_BINARY_LOOP(RealDiv, a / b)
BELAY_LOOPS_OF_ONE(RealDiv, a / b)
PointwiseLoops RealDivLoops() {
  return {.f32 = &RealDivLoop<float>,
          .f64 = &RealDivLoop<double>,
          .f32_of_first = &RealDivOfFirst,
          .f32_of_rest = &RealDivOfSecond};
}
BELAY_TERNARY_LOOP(AddScaledQuotient, a + p * b / c)
BELAY_LOOPS_OF_FLOATS(AddScaledQuotient)

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {

#define BELAY_EXPORT_LOOPS(Name, ...) BELAY_SIMD_EXPORT(Name##Loops);
BELAY_BINARY_OPERATORS(BELAY_EXPORT_LOOPS)
BELAY_COMPARISONS(BELAY_EXPORT_LOOPS)
BELAY_TERNARY_OPERATORS(BELAY_EXPORT_LOOPS)
BELAY_SIMD_EXPORT(ClipLoops);
BELAY_SIMD_EXPORT(RealDivLoops);
BELAY_SIMD_EXPORT(AddScaledQuotientLoops);

namespace kernels {

#define BELAY_DEFINE_BINARY_KERNEL(Name)                                                                \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out) { \
    PlanPointwise(plan, BELAY_SIMD_CALL(Name##Loops)(), compute, {self, other}, {}, out);               \
  }
#define BELAY_DEFINE_COMPLEX_BINARY_KERNEL(Name)                                                          \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out) {   \
    PlanPointwise(plan, With(BELAY_SIMD_CALL(Name##Loops)(), &Complex##Name), compute, {self, other}, {}, \
                  out);                                                                                   \
  }
BELAY_DEFINE_COMPLEX_BINARY_KERNEL(Mul)
BELAY_DEFINE_COMPLEX_BINARY_KERNEL(RealDiv)
BELAY_DEFINE_BINARY_KERNEL(Maximum)
BELAY_DEFINE_BINARY_KERNEL(Minimum)
BELAY_DEFINE_BINARY_KERNEL(SquaredDifference)
BELAY_DEFINE_BINARY_KERNEL(PreluOf)

// A weight for each channel: for each index of the second dimension.
void Prelu(Plan& plan, DType compute, const Operand& self, const Operand& weight, const Operand& out) {
  const Shape& shape = self.tensor->shape;
  int64_t channels = shape.rank() < 2 ? 1 : shape[1];
  int64_t weights = weight.tensor->count();
  if (weights != 1 && weights != channels) {
    Fail(tensor::kInvalidArgument, "op-weight-shape", "{} has {} elements; it has 1, or {}", weight.name,
         weights, channels);
  }
  Tensor view = *weight.tensor;
  int rank = view.shape.rank();
  int64_t step = weights == 1 ? 0 : view.strides[rank - 1];
  view.shape = Shape::Filled(shape.rank(), 1);
  view.strides = Shape::Filled(shape.rank(), 0);
  if (weights != 1) view.shape[1] = weights, view.strides[1] = step;
  PreluOf(plan, compute, self, {&view, nullptr, weight.binding, weight.name}, out);
}

#define BELAY_DEFINE_SCALED_KERNEL(Name)                                                               \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& other, const Scalar& alpha, \
            const Operand& out) {                                                                      \
    PlanPointwise(plan, With(BELAY_SIMD_CALL(Name##Loops)(), &Complex##Name), compute, {self, other},  \
                  LoopAttributes({&alpha}), out);                                                      \
  }
BELAY_DEFINE_SCALED_KERNEL(Add)
BELAY_DEFINE_SCALED_KERNEL(Sub)
BELAY_DEFINE_SCALED_KERNEL(Rsub)

// The result is a truth value, whatever the type in which the operands are compared. A scalar is rounded to
// that first.
void PlanComparison(Plan& plan, const PointwiseLoops& loops, const Operand& self, const Operand& other,
                    const Operand& out) {
  const DType compared = rules::Common(self, other);
  if (other.scalar == nullptr || (compared != DType::kF16 && compared != DType::kBF16))
    return PlanPointwise(plan, loops, compared, {self, other}, {}, out);
  uint16_t bits = 0;
  Convert(compared, &bits, other.scalar->dtype(), other.scalar->data(), 1);
  const Scalar rounded(&bits, compared);
  PlanPointwise(plan, loops, compared, {self, {nullptr, &rounded, -1, other.name}}, {}, out);
}

#define BELAY_DEFINE_COMPARISON(Name, ...)                                                      \
  void Name(Plan& plan, DType, const Operand& self, const Operand& other, const Operand& out) { \
    PlanComparison(plan, BELAY_SIMD_CALL(Name##Loops)(), self, other, out);                     \
  }
BELAY_ORDERINGS(BELAY_DEFINE_COMPARISON)
#define BELAY_DEFINE_EQUALITY(Name, ...)                                                          \
  void Name(Plan& plan, DType, const Operand& self, const Operand& other, const Operand& out) {   \
    PlanComparison(plan, With(BELAY_SIMD_CALL(Name##Loops)(), &Complex##Name), self, other, out); \
  }
BELAY_TRUTHS(BELAY_DEFINE_EQUALITY)

void Signbit(Plan& plan, DType, const Operand& self, const Operand& out) {
  const int64_t nothing = 0;
  const Scalar zero(&nothing, DType::kI64);
  Less(plan, DType::kBool, self, {nullptr, &zero, -1, "zero"}, out);
}

void Where(Plan& plan, DType compute, const Operand& condition, const Operand& self, const Operand& other,
           const Operand& out) {
  if (compute == out.dtype() && PlanChosenRows(plan, condition, self, other, out)) return;
  PlanPointwise(plan, With(BELAY_SIMD_CALL(SelectLoops)(), &ComplexSelect), compute, {condition, self, other},
                {}, out);
}

// An absent bound is the end of the compute type.
void Clamp(Plan& plan, DType compute, const Operand& self, const Operand& min, const Operand& max,
           const Operand& out) {
  if (!min.present() && !max.present()) return Copy(plan, compute, self, out);
  if (!max.present()) return Maximum(plan, compute, self, min, out);
  if (!min.present()) return Minimum(plan, compute, self, max, out);
  PlanPointwise(plan, BELAY_SIMD_CALL(ClipLoops)(), compute, {self, min, max}, {}, out);
}

void Addcmul(Plan& plan, DType compute, const Operand& self, const Operand& tensor1, const Operand& tensor2,
             const Scalar& value, const Operand& out) {
  PlanPointwise(plan, With(BELAY_SIMD_CALL(AddScaledProductLoops)(), &ComplexAddScaledProduct), compute,
                {self, tensor1, tensor2}, LoopAttributes({&value}), out);
}

void Addcdiv(Plan& plan, DType compute, const Operand& self, const Operand& tensor1, const Operand& tensor2,
             const Scalar& value, const Operand& out) {
  PlanPointwise(plan, With(BELAY_SIMD_CALL(AddScaledQuotientLoops)(), &ComplexAddScaledQuotient), compute,
                {self, tensor1, tensor2}, LoopAttributes({&value}), out);
}

void Lerp(Plan& plan, DType compute, const Operand& self, const Operand& end, const Operand& weight,
          const Operand& out) {
  PlanPointwise(plan, With(BELAY_SIMD_CALL(InterpolateLoops)(), &ComplexInterpolate), compute,
                {self, end, weight}, {}, out);
}

}  // namespace kernels
}  // namespace belay::ops
#endif  // HWY_ONCE
