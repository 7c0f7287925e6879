// The reductions as programs call them.
#include "ops/kernels.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.h"
#include "ops/layout/checks.h"
#include "ops/parts.h"
#include "ops/reduce/reduce.h"
#include "ops/rules.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

using Dims = std::span<const int64_t>;

constexpr Reduction kSum{};
constexpr Reduction kMean{.finish = Finish::kDivide};
constexpr Reduction kProduct{.fold = Fold::kProduct};
constexpr Reduction kMax{.fold = Fold::kMax};
constexpr Reduction kMin{.fold = Fold::kMin};

void Over(Plan& plan, const Reduction& how, DType type, const Operand& self, Dims dims, const Operand& out) {
  PlanReduce(plan, how, type, self, rules::ReducedDims(self, dims), out);
}

void Linear(Plan& plan, const Reduction& how, DType type, const Operand& self, Dims dims,
            const Operand& out) {
  if (!IsComplex(type)) return Over(plan, how, type, self, dims, out);
  OverParts(plan, self, out, [&](Plan& part, DType real, const Operand& from, const Operand& to) {
    Over(part, how, real, from, dims, to);
  });
}

// Of complex numbers by way of others, of `type`, that convert(part, self, them) makes of them first.
template <class Convert>
void OverConverted(Plan& plan, const Reduction& how, DType type, const Operand& self, Dims dims,
                   const Operand& out, const Convert& convert) {
  PlanThrough(
      plan, PackedOf(type, self.shape()), {&self}, out,
      [&](Plan& part, const auto& in, const Operand& between) { convert(part, in[0], between); },
      [&](Plan& part, const auto&, const Operand& between, const Operand& to) {
        Over(part, how, type, between, dims, to);
      });
}

void OverSizes(Plan& plan, const Reduction& how, DType type, const Operand& self, Dims dims,
               const Operand& out) {
  if (!IsComplex(self.dtype())) return Over(plan, how, type, self, dims, out);
  OverConverted(plan, how, DType::kF32, self, dims, out,
                [](Plan& part, const Operand& from, const Operand& to) { Abs(part, DType::kF32, from, to); });
}

void OverTruth(Plan& plan, const Reduction& how, const Operand& self, Dims dims, const Operand& out) {
  if (!IsComplex(self.dtype())) return Over(plan, how, DType::kBool, self, dims, out);
  OverConverted(plan, how, DType::kBool, self, dims, out,
                [](Plan& part, const Operand& from, const Operand& to) {
                  const float zero[2] = {};
                  const Scalar none(zero, DType::kC64);
                  Operand other{nullptr, &none, -1, "zero"};
                  NotEqual(part, DType::kBool, from, other, to);
                });
}

void CheckNotEmpty(const Operand& self, const char* which) {
  if (self.tensor->empty())
    Fail(tensor::kInvalidArgument, "op-empty-dim", "{} is empty: it has no {} element", self.name, which);
}

Reduction NormOf(double p) {
  if (p == 0) return {.fold = Fold::kCount};
  if (p == 1) return {.fold = Fold::kSumOfSizes};
  if (p == 2) return {.fold = Fold::kSumOfSquares, .finish = Finish::kRoot};
  if (std::isinf(p)) return {.fold = p > 0 ? Fold::kMaxOfSizes : Fold::kMinOfSizes};
  return {.fold = Fold::kSumOfPowers, .finish = Finish::kRoot, .power = p};
}

Reduction SpreadOf(int64_t correction, bool root) {
  return {.fold = Fold::kSumOfSquares,
          .finish = Finish::kDivide,
          .divisor = -static_cast<double>(correction),
          .around_mean = true,
          .root_of_quotient = root};
}

void SpreadAndMean(Plan& plan, DType type, const Operand& self, Dims dims, const Reduction& spread, bool keep,
                   const Operand& out, const Operand& mean) {
  CheckSameType(out, mean);
  CheckShape(mean, rules::Reduced(self, dims, keep));
  Sequence parts(plan);
  parts.Add([&](Plan& part) { Over(part, spread, type, self, dims, out); });
  parts.Add([&](Plan& part) { Over(part, kMean, type, self, dims, mean); });
  parts.Finish();
}

}  // namespace

void ReduceSum(Plan& plan, DType wanted, const Operand& self, Dims dims, bool, DType, const Operand& out) {
  Linear(plan, kSum, wanted, self, dims, out);
}
void Trace(Plan& plan, DType type, const Operand& self, const Operand& out) {
  const Shape& shape = self.shape();
  if (shape.rank() != 2)
    Fail(tensor::kInvalidArgument, "op-matrix", "{} has the shape {}; it is a matrix", self.name,
         shape.ToString());
  Tensor diagonal = *self.tensor;
  diagonal.shape = Shape{std::min(shape[0], shape[1])};
  diagonal.strides = tensor::Strides{self.tensor->strides[0] + self.tensor->strides[1]};
  Linear(plan, kSum, type, {&diagonal, nullptr, self.binding, self.name}, {}, out);
}
void Mean(Plan& plan, DType wanted, const Operand& self, Dims dims, bool, DType, const Operand& out) {
  Linear(plan, kMean, wanted, self, dims, out);
}
void Amax(Plan& plan, DType type, const Operand& self, Dims dims, bool, const Operand& out) {
  Over(plan, kMax, type, self, dims, out);
}
void Amin(Plan& plan, DType type, const Operand& self, Dims dims, bool, const Operand& out) {
  Over(plan, kMin, type, self, dims, out);
}
void Max(Plan& plan, DType type, const Operand& self, const Operand& out) {
  CheckNotEmpty(self, "largest");
  Over(plan, kMax, type, self, {}, out);
}
void Min(Plan& plan, DType type, const Operand& self, const Operand& out) {
  CheckNotEmpty(self, "least");
  Over(plan, kMin, type, self, {}, out);
}

namespace {

void Product(Plan& plan, DType wanted, const Operand& self, Dims dims, const Operand& out) {
  if (!IsComplex(wanted)) return Over(plan, kProduct, wanted, self, dims, out);
  CheckSameType(self, out);
  PlanComplexFold(plan, ComplexFold::kProduct, self, rules::ReducedDims(self, dims), out);
}

}  // namespace

void Prod(Plan& plan, DType wanted, const Operand& self, DType, const Operand& out) {
  Product(plan, wanted, self, {}, out);
}
void ProdDim(Plan& plan, DType wanted, const Operand& self, int64_t dim, bool, DType, const Operand& out) {
  Product(plan, wanted, self, Dims(&dim, 1), out);
}
// Elements become truth values first.
void All(Plan& plan, DType, const Operand& self, Dims dims, bool, const Operand& out) {
  OverTruth(plan, kMin, self, dims, out);
}
void Any(Plan& plan, DType, const Operand& self, Dims dims, bool, const Operand& out) {
  OverTruth(plan, kMax, self, dims, out);
}
void LogSumExp(Plan& plan, DType type, const Operand& self, Dims dims, bool, const Operand& out) {
  if (IsComplex(self.dtype()) || IsComplex(out.dtype())) {
    CheckSameType(self, out);
    return PlanComplexFold(plan, ComplexFold::kLogSumExp, self, rules::ReducedDims(self, dims), out);
  }
  Over(plan, {.fold = Fold::kSumOfExps, .finish = Finish::kLog, .around_max = true}, type, self, dims, out);
}
void Norm(Plan& plan, DType type, const Operand& self, const Operand& p, Dims dims, bool,
          const Operand& out) {
  OverSizes(plan, NormOf(p.present() ? p.scalar->ToDouble() : 2), type, self, dims, out);
}
void VectorNorm(Plan& plan, DType type, const Operand& self, const Scalar& p, Dims dims, bool, DType,
                const Operand& out) {
  OverSizes(plan, NormOf(p.ToDouble()), type, self, dims, out);
}
void Var(Plan& plan, DType type, const Operand& self, Dims dims, int64_t correction, bool,
         const Operand& out) {
  Over(plan, SpreadOf(correction, false), type, self, dims, out);
}
void Std(Plan& plan, DType type, const Operand& self, Dims dims, int64_t correction, bool,
         const Operand& out) {
  Over(plan, SpreadOf(correction, true), type, self, dims, out);
}

void VarMean(Plan& plan, DType type, const Operand& self, Dims dims, int64_t correction, bool keep,
             const Operand& out, const Operand& mean) {
  SpreadAndMean(plan, type, self, dims, SpreadOf(correction, false), keep, out, mean);
}
void StdMean(Plan& plan, DType type, const Operand& self, Dims dims, int64_t correction, bool keep,
             const Operand& out, const Operand& mean) {
  SpreadAndMean(plan, type, self, dims, SpreadOf(correction, true), keep, out, mean);
}

namespace {

void BothExtremes(Plan& plan, DType type, const Operand& self, Dims dims, const Operand& out,
                  const Operand& max) {
  CheckSameType(out, max);
  for (int d = 0; d < self.shape().rank(); ++d) {
    if ((rules::ReducedDims(self, dims) >> d & 1) != 0 && self.shape()[d] == 0) CheckNotEmpty(self, "least");
  }
  Sequence parts(plan);
  parts.Add([&](Plan& part) { Over(part, kMin, type, self, dims, out); });
  parts.Add([&](Plan& part) { Over(part, kMax, type, self, dims, max); });
  parts.Finish();
}

}  // namespace

void Aminmax(Plan& plan, DType type, const Operand& self, Dims dims, bool keep, const Operand& out,
             const Operand& max) {
  CheckShape(max, rules::Reduced(self, dims, keep));
  BothExtremes(plan, type, self, dims, out, max);
}
void AminmaxDim(Plan& plan, DType type, const Operand& self, int64_t dim, bool keep, const Operand& out,
                const Operand& max) {
  Aminmax(plan, type, self, Dims(&dim, 1), keep, out, max);
}
void AminmaxAll(Plan& plan, DType type, const Operand& self, const Operand& out, const Operand& max) {
  CheckShape(max, rules::ReducedAll(self, max));
  BothExtremes(plan, type, self, {}, out, max);
}
void ReduceNansum(Plan& plan, DType wanted, const Operand& self, Dims dims, bool, DType, const Operand& out) {
  Over(plan, {.fold = Fold::kSumOfNumbers}, wanted, self, dims, out);
}

void ArgMax(Plan& plan, DType, const Operand& self, int64_t dim, bool, const Operand& out) {
  PlanArg(plan, {.largest = true}, self, rules::WrapDim(self, dim), {}, out);
}
void ArgMin(Plan& plan, DType, const Operand& self, int64_t dim, bool, const Operand& out) {
  PlanArg(plan, {.largest = false}, self, rules::WrapDim(self, dim), {}, out);
}

namespace {

void Extremes(Plan& plan, bool largest, const Operand& self, int64_t dim, bool keep, const Operand& out,
              const Operand& indices) {
  Shape shape = rules::Reduced(self, Dims(&dim, 1), keep);
  if (indices.shape() != shape) {
    Fail(tensor::kInvalidArgument, "op-out-shape", "{} has shape {}, but the result has {}", indices.name,
         indices.shape().ToString(), shape.ToString());
  }
  PlanArg(plan, {.largest = largest}, self, rules::WrapDim(self, dim), out, indices);
}

}  // namespace

void MaxDim(Plan& plan, DType, const Operand& self, int64_t dim, bool keep, const Operand& out,
            const Operand& indices) {
  Extremes(plan, true, self, dim, keep, out, indices);
}
void MinDim(Plan& plan, DType, const Operand& self, int64_t dim, bool keep, const Operand& out,
            const Operand& indices) {
  Extremes(plan, false, self, dim, keep, out, indices);
}

void Cumsum(Plan& plan, DType wanted, const Operand& self, int64_t dim, DType, const Operand& out) {
  const int axis = rules::WrapDim(self, dim);
  if (!IsComplex(wanted)) return PlanScan(plan, {}, wanted, self, axis, out);
  OverParts(plan, self, out, [&](Plan& part, DType real, const Operand& from, const Operand& to) {
    PlanScan(part, {}, real, from, axis, to);
  });
}
void Cumprod(Plan& plan, DType wanted, const Operand& self, const Scalar& dim, DType, const Operand& out) {
  if (IsComplex(wanted)) CheckSameType(self, out);
  PlanScan(plan, {.product = true}, wanted, self, rules::WrapDim(self, dim.ToInt()), out);
}
void CumprodOnto(Plan& plan, DType type, const Operand& self, const Scalar& dim, const Operand& out) {
  Cumprod(plan, type, self, dim, type, out);
}

}  // namespace belay::ops::kernels
