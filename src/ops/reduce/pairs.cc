// Reductions by way of a tensor between: of what two operands give element by element, of numbers in bins.
#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/pipeline.h"
#include "ops/reduce/histogram.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {

void TensorEqual(Plan& plan, DType, const Operand& self, const Operand& other, const Operand& out) {
  if (self.shape() != other.shape()) {
    const int64_t no = 0;
    return Fill(plan, out.dtype(), Scalar(&no, DType::kI64), out);
  }
  PlanThrough(
      plan, tensor::PackedOf(DType::kBool, self.shape()), {&self, &other}, out,
      [&](Plan& part, const auto& in, const Operand& same) { Equal(part, DType::kBool, in[0], in[1], same); },
      [&](Plan& part, const auto&, const Operand& same, const Operand& to) {
        All(part, DType::kBool, same, {}, false, to);
      });
}

// The products are rounded once, with their sum.
void Dot(Plan& plan, DType compute, const Operand& self, const Operand& tensor, const Operand& out) {
  if (self.shape().rank() != 1 || self.shape() != tensor.shape()) {
    Fail(tensor::kInvalidArgument, "op-dot-shape",
         "{} has the shape {} and {} has {}; both are vectors of one size", self.name,
         self.shape().ToString(), tensor.name, tensor.shape().ToString());
  }
  const DType wide = ComputeType(compute) == DType::kI32 ? DType::kI64 : ComputeType(compute);
  PlanThrough(
      plan, tensor::PackedOf(wide, self.shape()), {&self, &tensor}, out,
      [&](Plan& part, const auto& in, const Operand& products) { Mul(part, wide, in[0], in[1], products); },
      [&](Plan& part, const auto&, const Operand& products, const Operand& to) {
        ReduceSum(part, wide, products, {}, false, wide, to);
      });
}

// Numbers are counted in DOUBLE.
void Histc(Plan& plan, DType, const Operand& self, int64_t bins, const Scalar& min, const Scalar& max,
           const Operand& out) {
  const double low = min.ToDouble(), high = max.ToDouble();
  if (bins < 1 || !(low <= high)) {
    Fail(tensor::kInvalidArgument, "op-histogram", "there are {} bins from {} to {}; one or more, in order",
         bins, low, high);
  }
  CheckShape(out, Shape{bins});
  PlanThrough(
      plan, tensor::PackedOf(DType::kF64, self.shape()), {&self}, out,
      [&](Plan& part, const auto& in, const Operand& numbers) { Copy(part, DType::kF64, in[0], numbers); },
      [&](Plan& part, const auto&, const Operand& numbers, const Operand& to) {
        PlanThrough(
            part, tensor::PackedOf(DType::kF64, to.shape()), {&numbers}, to,
            [&](Plan& count, const auto& in, const Operand& counts) {
              PlanHistogram(count, in[0], low, high, counts);
            },
            [&](Plan& copy, const auto&, const Operand& counts, const Operand& end) {
              Copy(copy, DType::kF64, counts, end);
            });
      });
}

}  // namespace belay::ops::kernels
