// Loops of ACL_COMPLEX64, beside those of the real types. One instruction set: the functions are the C
// library's.
#pragma once

#include "ops/elementwise/pointwise.h"

// Of one operand, of two and of three.
// clang-format off
#define BELAY_COMPLEX_UNARY(X)                                                                             \
  X(Abs) X(Neg) X(Square) X(Sign) X(Sqrt) X(Rsqrt) X(Reciprocal) X(LogicalNot) X(IsFinite) X(Exp) X(Exp2)  \
  X(Expm1) X(Log) X(Log2) X(Log10) X(Log1p) X(Sin) X(Cos) X(Tan) X(Asin) X(Acos) X(Atan) X(Sinh) X(Cosh)   \
  X(Tanh) X(Asinh) X(Acosh) X(Atanh) X(Sigmoid) X(Silu) X(Angle) X(Sinc)
#define BELAY_COMPLEX_BINARY(X) \
  X(Add) X(Sub) X(Rsub) X(Mul) X(RealDiv) X(Pow) X(Equal) X(NotEqual) X(LogicalAnd) X(LogicalOr) X(LogicalXor) \
  X(IsClose) X(LogAddPowers)
#define BELAY_COMPLEX_TERNARY(X) X(Select) X(AddScaledProduct) X(AddScaledQuotient) X(Interpolate) X(MinusProduct) X(ScaledSum)
// clang-format on

namespace belay::ops {

#define BELAY_DECLARE_COMPLEX(Name) \
  void Complex##Name(void* out, const void* const* in, const LoopAttributes& attributes, int64_t n);
BELAY_COMPLEX_UNARY(BELAY_DECLARE_COMPLEX)
BELAY_COMPLEX_BINARY(BELAY_DECLARE_COMPLEX)
BELAY_COMPLEX_TERNARY(BELAY_DECLARE_COMPLEX)
#undef BELAY_DECLARE_COMPLEX

// The loops with one of complex numbers beside them.
inline PointwiseLoops With(PointwiseLoops loops, PointwiseLoop complex) {
  loops.c64 = complex;
  return loops;
}

}  // namespace belay::ops
