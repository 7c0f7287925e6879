// Functions of one float: exponentials, logarithms, and what networks put behind a layer. One line
// each; the loops are compiled for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/activation.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"
#include "ops/elementwise/vectors-inl.h"

#ifndef BELAY_OPS_ACTIVATION_ONCE
#define BELAY_OPS_ACTIVATION_ONCE
#include <cmath>

#include "base/error.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/loops.h"
#include "ops/elementwise/unlisted.h"
#include "ops/kernels.h"
#include "tensor/codes.h"

// clang-format off
// Those of vectors-inl.h come in lists of their own.
#define BELAY_COMPLEX_VECTOR_FUNCTIONS(X)                                           \
  X(Exp, Exp(a))                                                                    \
  X(Tanh, Tanh(a))                                                                  \
  X(Sigmoid, Sigmoid(a))                                                            \
  X(Silu, a* Sigmoid(a))
#define BELAY_COMPLEX_SCALAR_FUNCTIONS(X)                                           \
  X(Expm1, Expm1(a))                                                                \
  X(Log, Log(a))                                                                    \
  X(Log1p, Log1p(a))
#define BELAY_COMPLEX_FUNCTIONS(X) BELAY_COMPLEX_VECTOR_FUNCTIONS(X) BELAY_COMPLEX_SCALAR_FUNCTIONS(X)
#define BELAY_FLOAT_VECTOR_FUNCTIONS(X)                                             \
  X(Erf, Erf(a))                                                                    \
  X(Gelu, T(0.5) * a * (1 + Erf(a * T(0.70710678118654752))))                       \
  X(GeluTanh, a* Sigmoid(T(1.5957691216057308) * (a + T(0.044715) * a * a * a)))
#define BELAY_FLOAT_SCALAR_FUNCTIONS(X)                                             \
  X(LogSigmoid, (a < 0 ? a : T{0}) - Log1pOfUnit(ExpOrZero(-std::fabs(a))))               \
  X(Mish, a > 20 ? a : Ratio(Exp(a > 20 ? T{20} : a), a))                           \
  X(Softsign, a / (1 + std::fabs(a)))
#define BELAY_FLOAT_FUNCTIONS(X) BELAY_FLOAT_VECTOR_FUNCTIONS(X) BELAY_FLOAT_SCALAR_FUNCTIONS(X)
#define BELAY_VECTOR_FUNCTIONS_WITH_ATTRIBUTES(X) X(Swish, a* Sigmoid(p* a))
#define BELAY_FUNCTIONS_WITH_ATTRIBUTES(X)                                          \
  X(ExpOf, Exp(p * a + q))                                                          \
  X(LogOf, Log(p * a + q) * r)                                                      \
  X(Elu, q * (a > 0 ? a : p * Expm1(r * a)))                                        \
  X(Softplus, p* a > q ? a : ((p * a > 0 ? p * a : T{0}) + Log1pOfUnit(ExpOrZero(-std::fabs(p * a)))) * r) \
  X(HardSigmoid, Between01(p * a + q))                                              \
  X(HardSwish, a* Between01(a * T(1.0 / 6) + T(0.5)))
// clang-format on
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

template <class T>
inline T Between01(T x) {
  return x < 0 ? T{0} : x > 1 ? T{1} : x;
}
// a tanh(log(1 + e)) without the logarithm
template <class T>
inline T Ratio(T e, T a) {
  T n = e * (e + 2);
  return a * (n / (n + 2));
}

#define BELAY_DEFINE_FLOAT(Name, value) BELAY_UNARY_LOOP(Name, value) BELAY_LOOPS_OF_FLOATS(Name)
#if HWY_TARGET == HWY_SCALAR
#define BELAY_DEFINE_VECTOR(Name, value) BELAY_DEFINE_FLOAT(Name, value)
#else
#define BELAY_DEFINE_VECTOR(Name, value) \
  BELAY_UNARY_LOOP(Name, value)          \
  PointwiseLoops Name##Loops() { return {.f32 = &Name##Vectors, .f64 = &Name##Loop<double>}; }
#endif
BELAY_COMPLEX_VECTOR_FUNCTIONS(BELAY_DEFINE_VECTOR)
BELAY_FLOAT_VECTOR_FUNCTIONS(BELAY_DEFINE_VECTOR)
BELAY_VECTOR_FUNCTIONS_WITH_ATTRIBUTES(BELAY_DEFINE_VECTOR)
#undef BELAY_DEFINE_VECTOR
BELAY_COMPLEX_SCALAR_FUNCTIONS(BELAY_DEFINE_FLOAT)
BELAY_FLOAT_SCALAR_FUNCTIONS(BELAY_DEFINE_FLOAT)
BELAY_FUNCTIONS_WITH_ATTRIBUTES(BELAY_DEFINE_FLOAT)

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {

#define BELAY_EXPORT_LOOPS(Name, value) BELAY_SIMD_EXPORT(Name##Loops);
BELAY_COMPLEX_FUNCTIONS(BELAY_EXPORT_LOOPS)
BELAY_FLOAT_FUNCTIONS(BELAY_EXPORT_LOOPS)
BELAY_VECTOR_FUNCTIONS_WITH_ATTRIBUTES(BELAY_EXPORT_LOOPS)
BELAY_FUNCTIONS_WITH_ATTRIBUTES(BELAY_EXPORT_LOOPS)

namespace kernels {

#define BELAY_DEFINE_KERNEL(Name, value)                                           \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& out) {  \
    PlanPointwise(plan, BELAY_SIMD_CALL(Name##Loops)(), compute, {self}, {}, out); \
  }
BELAY_FLOAT_FUNCTIONS(BELAY_DEFINE_KERNEL)
#define BELAY_DEFINE_COMPLEX_KERNEL(Name, value)                                                         \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& out) {                        \
    PlanPointwise(plan, With(BELAY_SIMD_CALL(Name##Loops)(), &Complex##Name), compute, {self}, {}, out); \
  }
BELAY_COMPLEX_FUNCTIONS(BELAY_DEFINE_COMPLEX_KERNEL)
BELAY_DEFINE_KERNEL(HardSwish, )

#define BELAY_DEFINE_KERNEL_OF_TWO(Name)                                                               \
  void Name(Plan& plan, DType compute, const Operand& self, double p, double q, const Operand& out) {  \
    PlanPointwise(plan, BELAY_SIMD_CALL(Name##Loops)(), compute, {self}, LoopAttributes({p, q}), out); \
  }
BELAY_DEFINE_KERNEL_OF_TWO(ExpOf)
BELAY_DEFINE_KERNEL_OF_TWO(HardSigmoid)
void LogOf(Plan& plan, DType compute, const Operand& self, double scale, double shift, double factor,
           const Operand& out) {
  PlanPointwise(plan, BELAY_SIMD_CALL(LogOfLoops)(), compute, {self}, LoopAttributes({scale, shift, factor}),
                out);
}

void GeluV2(Plan& plan, DType compute, const Operand& self, int64_t approximate, const Operand& out) {
  if (approximate != 0 && approximate != 1) {
    Fail(tensor::kInvalidArgument, "op-gelu-approximate",
         "approximate is {}; it is 0 (the exact function) or 1 (with tanh)", approximate);
  }
  approximate == 1 ? GeluTanh(plan, compute, self, out) : Gelu(plan, compute, self, out);
}

void LogSigmoidForward(Plan& plan, DType compute, const Operand& self, const Operand& out,
                       const Operand& /*buffer*/) {
  LogSigmoid(plan, compute, self, out);
}

// Integers are computed as FLOAT.
void HardSigmoid(Plan& plan, DType compute, const Operand& self, const Operand& out) {
  HardSigmoid(plan, tensor::IsFloat(compute) ? compute : DType::kF32, self, 1.0 / 6, 0.5, out);
}

// Without beta it is 1.
void Swish(Plan& plan, DType compute, const Operand& self, const Operand& beta, const Operand& out) {
  LoopAttributes factor({beta.present() ? beta.scalar->ToDouble() : 1.0});
  PlanPointwise(plan, BELAY_SIMD_CALL(SwishLoops)(), compute, {self}, factor, out);
}

void FastGelu(Plan& plan, DType compute, const Operand& self, const Operand& out) {
  PlanPointwise(plan, BELAY_SIMD_CALL(SwishLoops)(), compute, {self}, LoopAttributes({1.702}), out);
}

void Elu(Plan& plan, DType compute, const Operand& self, const Scalar& alpha, const Scalar& scale,
         const Scalar& input_scale, const Operand& out) {
  PlanPointwise(plan, BELAY_SIMD_CALL(EluLoops)(), compute, {self},
                LoopAttributes({&alpha, &scale, &input_scale}), out);
}

void Celu(Plan& plan, DType compute, const Operand& self, const Scalar& alpha, const Operand& out) {
  double a = alpha.ToDouble();
  PlanPointwise(plan, BELAY_SIMD_CALL(EluLoops)(), compute, {self}, LoopAttributes({a, 1, 1 / a}), out);
}

void Selu(Plan& plan, DType compute, const Operand& self, double alpha, double gamma, const Operand& out) {
  PlanPointwise(plan, BELAY_SIMD_CALL(EluLoops)(), compute, {self}, LoopAttributes({alpha, gamma, 1}), out);
}
void Selu(Plan& plan, DType compute, const Operand& self, const Operand& out) {
  Selu(plan, compute, self, 1.6732632423543772, 1.0507009873554805, out);
}

void Softplus(Plan& plan, DType compute, const Operand& self, const Scalar& beta, const Scalar& threshold,
              const Operand& out) {
  const double factor = beta.ToDouble();
  PlanPointwise(plan, BELAY_SIMD_CALL(SoftplusLoops)(), compute, {self},
                LoopAttributes({factor, threshold.ToDouble(), 1 / factor}), out);
}

}  // namespace kernels
}  // namespace belay::ops
#endif  // HWY_ONCE
