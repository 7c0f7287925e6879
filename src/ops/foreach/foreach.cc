// Functions over lists of tensors: a pointwise operator on the tensors that stand at the same place in each
// list, as one task.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "ops/elementwise/gradients.h"
#include "ops/elementwise/unlisted.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/reduce/reduce.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

using tensor::kInvalidArgument;
using Scalars = std::span<const Scalar>;

Operand OperandOf(const Scalar& scalar, const char* name) { return {nullptr, &scalar, -1, name}; }

void CheckLengths(size_t seen, const char* name, size_t wanted) {
  if (seen == wanted) return;
  Fail(kInvalidArgument, "op-foreach-lists", "{} has {} members; the others have {}", name, seen, wanted);
}

// A member's type and shape are those of the first list's member.
void CheckAlike(const Operand& member, const Operand& like) {
  CheckSameType(member, like);
  CheckShape(member, like.shape());
}

// A scalar that tensors of whole numbers cannot take.
void CheckScalar(const Operand& x, const Scalar& scalar) {
  if (IsFloat(x.dtype()) || scalar.IsWhole()) return;
  Fail(kInvalidArgument, "op-foreach-scalar", "{} holds {}, which {} is not one of", x.name,
       NameOf(x.dtype()), scalar.ToString());
}

// The lists of a call: `make(part, i)` plans what is done to the tensors at place i.
template <class Make>
void ForEach(Plan& plan, std::initializer_list<const OperandList*> in, const OperandList& out,
             const Make& make) {
  if (out.empty()) Fail(kInvalidArgument, "op-empty-list", "a list is empty; it needs one or more tensors");
  for (const OperandList* list : in)
    CheckLengths(list->size(), list->empty() ? "a list" : (*list)[0].name, out.size());
  Sequence parts(plan);
  for (size_t i = 0; i < out.size(); ++i) {
    for (const OperandList* list : in) {
      const Operand& x = (*list)[i];
      CheckAlike(x, out[i]);
      if (x.binding != out[i].binding && IsSameView(x, out[i])) plan.MayLieOn(x.binding, out[i].binding);
    }
    if (!out[i].tensor->empty()) parts.Add([&](Plan& part) { make(part, i); });
  }
  parts.FinishApart();
}

using Unary = void (*)(Plan&, DType, const Operand&, const Operand&);
using Binary = void (*)(Plan&, DType, const Operand&, const Operand&, const Operand&);
using Scaled = void (*)(Plan&, DType, const Operand&, const Operand&, const Scalar&, const Operand&);

void EachUnary(Plan& plan, Unary kernel, const OperandList& x, const OperandList& out) {
  ForEach(plan, {&x}, out, [&](Plan& part, size_t i) { kernel(part, x[i].dtype(), x[i], out[i]); });
}

void EachBinary(Plan& plan, Binary kernel, const OperandList& x1, const OperandList& x2,
                const OperandList& out) {
  ForEach(plan, {&x1, &x2}, out,
          [&](Plan& part, size_t i) { kernel(part, x1[i].dtype(), x1[i], x2[i], out[i]); });
}

// What a type is computed in beside a number of another one.
DType ComputeOf(const Operand& x) { return IsFloat(x.dtype()) ? DType::kF32 : x.dtype(); }

void EachScaled(Plan& plan, Scaled kernel, const OperandList& x1, const OperandList& x2, const Scalar& alpha,
                const OperandList& out) {
  ForEach(plan, {&x1, &x2}, out, [&](Plan& part, size_t i) {
    CheckScalar(x1[i], alpha);
    kernel(part, x1[i].dtype(), x1[i], x2[i], alpha, out[i]);
  });
}

void Over(Plan& plan, DType compute, const Operand& a, const Operand& b, const Operand& out) {
  RealDiv(plan, compute, a, b, out);
}

// One scalar for all, or one for each.
void EachWith(Plan& plan, Binary kernel, const OperandList& x, Scalars scalars, const OperandList& out) {
  if (scalars.size() != 1) CheckLengths(scalars.size(), "scalars", out.size());
  ForEach(plan, {&x}, out, [&](Plan& part, size_t i) {
    const Scalar& scalar = scalars[scalars.size() == 1 ? 0 : i];
    CheckScalar(x[i], scalar);
    kernel(part, x[i].dtype(), x[i], OperandOf(scalar, "scalar"), out[i]);
  });
}
void EachWith(Plan& plan, Binary kernel, const OperandList& x, const Scalar& scalar, const OperandList& out) {
  EachWith(plan, kernel, x, Scalars(&scalar, 1), out);
}

// A number in memory, for tensors of any shape.
class Factor {
 public:
  Factor(const Operand& all, int64_t at)
      : tensor_(*all.tensor), operand_{&tensor_, nullptr, all.binding, all.name} {
    if (at != 0) tensor_.offset += at * tensor_.strides[0];
    tensor_.shape = tensor_.strides = {};
  }
  Factor(const Factor&) = delete;
  Factor& operator=(const Factor&) = delete;

  const Operand& operand() const { return operand_; }

 private:
  Tensor tensor_;
  Operand operand_;
};

// One element, of the tensors' type or FLOAT.
void CheckFactor(const Operand& scalar, const OperandList& x) {
  CheckOne(scalar);
  if (x.empty() || scalar.dtype() == x[0].dtype() || (IsFloat(x[0].dtype()) && scalar.dtype() == DType::kF32))
    return;
  CheckSameType(scalar, x[0]);
}

void EachWithOne(Plan& plan, Binary kernel, const OperandList& x, const Operand& scalar,
                 const OperandList& out) {
  CheckFactor(scalar, x);
  const Factor factor(scalar, 0);
  ForEach(plan, {&x}, out,
          [&](Plan& part, size_t i) { kernel(part, ComputeOf(x[i]), x[i], factor.operand(), out[i]); });
}

using Fused = void (*)(Plan&, DType, const Operand&, const Operand&, const Operand&, const Scalar&,
                       const Operand&);

void EachFused(Plan& plan, Fused kernel, const std::array<const OperandList*, 3>& x, const Scalar& scalar,
               const OperandList& out) {
  ForEach(plan, {x[0], x[1], x[2]}, out, [&](Plan& part, size_t i) {
    const Operand& first = (*x[0])[i];
    CheckScalar(first, scalar);
    kernel(part, first.dtype(), first, (*x[1])[i], (*x[2])[i], scalar, out[i]);
  });
}

}  // namespace

#define BELAY_FOREACH_UNARY(Name, Kernel)                                               \
  void Foreach##Name(Plan& plan, DType, const OperandList& x, const OperandList& out) { \
    EachUnary(plan, &Kernel, x, out);                                                   \
  }
#define BELAY_FOREACH_BINARY(Name, Kernel)                                            \
  void Foreach##Name(Plan& plan, DType, const OperandList& x1, const OperandList& x2, \
                     const OperandList& out) {                                        \
    EachBinary(plan, &Kernel, x1, x2, out);                                           \
  }
#define BELAY_FOREACH_SCALAR(Name, Kernel)                                                     \
  void Foreach##Name##Scalar(Plan& plan, DType, const OperandList& x, const Scalar& scalar,    \
                             const OperandList& out) {                                         \
    EachWith(plan, &Kernel, x, scalar, out);                                                   \
  }                                                                                            \
  void Foreach##Name##ScalarList(Plan& plan, DType, const OperandList& x, Scalars scalars,     \
                                 const OperandList& out) {                                     \
    CheckLengths(scalars.size(), "scalars", x.size());                                         \
    EachWith(plan, &Kernel, x, scalars, out);                                                  \
  }                                                                                            \
  void Foreach##Name##ByTensor(Plan& plan, DType, const OperandList& x, const Operand& scalar, \
                               const OperandList& out) {                                       \
    EachWithOne(plan, &Kernel, x, scalar, out);                                                \
  }

BELAY_FOREACH_UNARY(Sqrt, Sqrt)
BELAY_FOREACH_UNARY(Exp, Exp)
BELAY_FOREACH_UNARY(Log, Log)
BELAY_FOREACH_UNARY(Abs, Abs)
BELAY_FOREACH_UNARY(Neg, Neg)
BELAY_FOREACH_UNARY(Reciprocal, Reciprocal)
BELAY_FOREACH_UNARY(Sigmoid, Sigmoid)
BELAY_FOREACH_UNARY(Tanh, Tanh)
BELAY_FOREACH_UNARY(Sin, Sin)
BELAY_FOREACH_UNARY(Cos, Cos)
BELAY_FOREACH_UNARY(Tan, Tan)
BELAY_FOREACH_UNARY(Asin, Asin)
BELAY_FOREACH_UNARY(Acos, Acos)
BELAY_FOREACH_UNARY(Atan, Atan)
BELAY_FOREACH_UNARY(Sinh, Sinh)
BELAY_FOREACH_UNARY(Cosh, Cosh)
BELAY_FOREACH_UNARY(Erf, Erf)
BELAY_FOREACH_UNARY(Erfc, Erfc)
BELAY_FOREACH_UNARY(Expm1, Expm1)
BELAY_FOREACH_UNARY(Log2, Log2)
BELAY_FOREACH_UNARY(Log10, Log10)
BELAY_FOREACH_UNARY(Log1p, Log1p)
BELAY_FOREACH_UNARY(Sign, Sign)
BELAY_FOREACH_UNARY(Copy, Copy)
BELAY_FOREACH_BINARY(MulList, Mul)
BELAY_FOREACH_BINARY(DivList, Over)
BELAY_FOREACH_BINARY(MaximumList, Maximum)
BELAY_FOREACH_BINARY(MinimumList, Minimum)
BELAY_FOREACH_BINARY(PowList, Pow)
BELAY_FOREACH_SCALAR(Add, Plus)
BELAY_FOREACH_SCALAR(Sub, Minus)
BELAY_FOREACH_SCALAR(Mul, Mul)
BELAY_FOREACH_SCALAR(Div, Over)
BELAY_FOREACH_SCALAR(Maximum, Maximum)
BELAY_FOREACH_SCALAR(Minimum, Minimum)
BELAY_FOREACH_SCALAR(Pow, Pow)
#undef BELAY_FOREACH_UNARY
#undef BELAY_FOREACH_BINARY
#undef BELAY_FOREACH_SCALAR

void ForeachPowScalarAndTensor(Plan& plan, DType, const Scalar& scalar, const OperandList& x,
                               const OperandList& out) {
  ForEach(plan, {&x}, out, [&](Plan& part, size_t i) {
    CheckScalar(x[i], scalar);
    Pow(part, x[i].dtype(), OperandOf(scalar, "scalar"), x[i], out[i]);
  });
}

void ForeachAddList(Plan& plan, DType, const OperandList& x1, const OperandList& x2, const Scalar& alpha,
                    const OperandList& out) {
  EachScaled(plan, &Add, x1, x2, alpha, out);
}
void ForeachSubList(Plan& plan, DType, const OperandList& x1, const OperandList& x2, const Scalar& alpha,
                    const OperandList& out) {
  EachScaled(plan, &Sub, x1, x2, alpha, out);
}

void ForeachAddcmulScalar(Plan& plan, DType, const OperandList& x1, const OperandList& x2,
                          const OperandList& x3, const Scalar& scalar, const OperandList& out) {
  EachFused(plan, &Addcmul, {&x1, &x2, &x3}, scalar, out);
}
void ForeachAddcdivScalar(Plan& plan, DType, const OperandList& x1, const OperandList& x2,
                          const OperandList& x3, const Scalar& scalar, const OperandList& out) {
  EachFused(plan, &Addcdiv, {&x1, &x2, &x3}, scalar, out);
}

namespace {

// out = x1 + factor * x2 * x3, or / x3.
void PlanFused(Plan& plan, const PointwiseLoops& last, const Operand& x1, const Operand& x2,
               const Operand& x3, const Operand& factor, const Operand& out) {
  const DType compute = ComputeOf(out);
  PlanThrough(
      plan, tensor::PackedOf(compute, out.shape()), {&x1, &x2, &x3, &factor}, out,
      [&](Plan& step, const auto& in, const Operand& between) { Mul(step, compute, in[1], in[3], between); },
      [&](Plan& step, const auto& in, const Operand& between, const Operand& to) {
        PlanPointwise(step, last, compute, {in[0], between, in[2]}, {}, to);
      });
}

enum class Factors { kOneForAll, kOneEach };

// With the numbers in memory.
void EachFusedOf(Plan& plan, const PointwiseLoops& last, const OperandList& x1, const OperandList& x2,
                 const OperandList& x3, const Operand& scalars, Factors factors, const OperandList& out) {
  ForEach(plan, {&x1, &x2, &x3}, out, [&](Plan& part, size_t i) {
    const Factor factor(scalars, factors == Factors::kOneEach ? static_cast<int64_t>(i) : 0);
    PlanFused(part, last, x1[i], x2[i], x3[i], factor.operand(), out[i]);
  });
}

void CheckOneEach(const Operand& scalars, const OperandList& out) {
  if (scalars.shape() == Shape{static_cast<int64_t>(out.size())}) return;
  Fail(kInvalidArgument, "op-foreach-lists", "{} has shape {}; the lists have {} members", scalars.name,
       scalars.shape().ToString(), out.size());
}

// out = kernel(x1, alpha * x2).
void EachScaledOfOne(Plan& plan, Binary kernel, const OperandList& x1, const OperandList& x2,
                     const Operand& alpha, const OperandList& out) {
  CheckFactor(alpha, x1);
  const Factor factor(alpha, 0);
  ForEach(plan, {&x1, &x2}, out, [&](Plan& part, size_t i) {
    const DType compute = ComputeOf(out[i]);
    PlanThrough(
        part, tensor::PackedOf(compute, out[i].shape()), {&x1[i], &x2[i], &factor.operand()}, out[i],
        [&](Plan& step, const auto& in, const Operand& between) {
          Mul(step, compute, in[1], in[2], between);
        },
        [&](Plan& step, const auto& in, const Operand& between, const Operand& to) {
          kernel(step, compute, in[0], between, to);
        });
  });
}

}  // namespace

void ForeachAddcmulScalarList(Plan& plan, DType, const OperandList& x1, const OperandList& x2,
                              const OperandList& x3, const Operand& scalars, const OperandList& out) {
  CheckOneEach(scalars, out);
  EachFusedOf(plan, PlusProductLoops(), x1, x2, x3, scalars, Factors::kOneEach, out);
}
void ForeachAddcdivScalarList(Plan& plan, DType, const OperandList& x1, const OperandList& x2,
                              const OperandList& x3, const Operand& scalars, const OperandList& out) {
  CheckOneEach(scalars, out);
  EachFusedOf(plan, PlusQuotientLoops(), x1, x2, x3, scalars, Factors::kOneEach, out);
}

void ForeachAddListByTensor(Plan& plan, DType, const OperandList& x1, const OperandList& x2,
                            const Operand& alpha, const OperandList& out) {
  EachScaledOfOne(plan, &Plus, x1, x2, alpha, out);
}
void ForeachSubListByTensor(Plan& plan, DType, const OperandList& x1, const OperandList& x2,
                            const Operand& alpha, const OperandList& out) {
  EachScaledOfOne(plan, &Minus, x1, x2, alpha, out);
}
void ForeachAddcmulByTensor(Plan& plan, DType, const OperandList& x1, const OperandList& x2,
                            const OperandList& x3, const Operand& scalar, const OperandList& out) {
  CheckFactor(scalar, x1);
  EachFusedOf(plan, PlusProductLoops(), x1, x2, x3, scalar, Factors::kOneForAll, out);
}
void ForeachAddcdivByTensor(Plan& plan, DType, const OperandList& x1, const OperandList& x2,
                            const OperandList& x3, const Operand& scalar, const OperandList& out) {
  CheckFactor(scalar, x1);
  EachFusedOf(plan, PlusQuotientLoops(), x1, x2, x3, scalar, Factors::kOneForAll, out);
}

void ForeachRoundOffNumber(Plan& plan, DType, const OperandList& x, const Scalar& roundMode,
                           const OperandList& out) {
  enum : int64_t { kNearest = 1, kDown = 2, kUp = 3, kTowardsZero = 5, kRest = 7 };
  const int64_t mode = roundMode.ToInt(), whole = 1;
  if (mode == kNearest) return EachUnary(plan, &Round, x, out);
  if (mode == kDown) return EachUnary(plan, &Floor, x, out);
  if (mode == kUp) return EachUnary(plan, &Ceil, x, out);
  if (mode == kTowardsZero) return EachUnary(plan, &Trunc, x, out);
  if (mode != kRest) Fail(kInvalidArgument, "op-round-mode", "roundMode is {}; it is 1, 2, 3, 5 or 7", mode);
  EachWith(plan, &Fmod, x, Scalar(&whole, DType::kI64), out);
}

void ForeachLerpScalar(Plan& plan, DType, const OperandList& x1, const OperandList& x2, const Scalar& weight,
                       const OperandList& out) {
  ForEach(plan, {&x1, &x2}, out, [&](Plan& part, size_t i) {
    Lerp(part, x1[i].dtype(), x1[i], x2[i], OperandOf(weight, "weight"), out[i]);
  });
}
void ForeachLerpList(Plan& plan, DType, const OperandList& x1, const OperandList& x2,
                     const OperandList& weights, const OperandList& out) {
  ForEach(plan, {&x1, &x2, &weights}, out,
          [&](Plan& part, size_t i) { Lerp(part, x1[i].dtype(), x1[i], x2[i], weights[i], out[i]); });
}

void ForeachZeroInplace(Plan& plan, DType, const OperandList& out) {
  ForEach(plan, {}, out, [&](Plan& part, size_t i) { Zero(part, out[i].dtype(), out[i]); });
}

// The norm of each tensor, in one element.
void ForeachNorm(Plan& plan, DType, const OperandList& x, const Scalar& scalar, const OperandList& out) {
  if (x.empty()) Fail(kInvalidArgument, "op-empty-list", "a list is empty; it needs one or more tensors");
  CheckLengths(out.size(), out.empty() ? "out" : out[0].name, x.size());
  Sequence parts(plan);
  for (size_t i = 0; i < x.size(); ++i) {
    CheckOne(out[i], static_cast<int64_t>(i));
    Tensor number = *out[i].tensor;
    number.shape = {}, number.strides = {};
    parts.Add([&](Plan& part) {
      Norm(part, DType::kF32, x[i], OperandOf(scalar, "scalar"), {}, false,
           {&number, nullptr, out[i].binding, out[i].name});
    });
  }
  parts.FinishApart();
}

}  // namespace belay::ops::kernels
