// Reductions of what two operands give element by element.
#include "base/error.h"
#include "ops/kernels.h"
#include "ops/pipeline.h"
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
      [&](Plan& part, const Operand& same, const Operand& to) {
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
      [&](Plan& part, const Operand& products, const Operand& to) {
        ReduceSum(part, wide, products, {}, false, wide, to);
      });
}

}  // namespace belay::ops::kernels
