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

// Weights are added up in DOUBLE.
void Bincount(Plan& plan, DType, const Operand& self, const Operand& weights, int64_t minlength,
              const Operand& out) {
  if (self.shape().rank() != 1 || out.shape().rank() != 1 || minlength < 0 || out.shape()[0] < minlength) {
    Fail(tensor::kInvalidArgument, "op-bincount",
         "{} and {} have the shapes {} and {}, minlength is {}; both have one dimension, the second of {} or "
         "more",
         self.name, out.name, self.shape().ToString(), out.shape().ToString(), minlength, minlength);
  }
  std::vector<const Operand*> given = {&self};
  if (weights.present()) CheckShape(weights, self.shape()), given.push_back(&weights);
  const auto count = [](Plan& part, const Operand& numbers, const Operand& of_each, const Operand& to) {
    std::vector<const Operand*> both = {&numbers};
    if (of_each.present()) both.push_back(&of_each);
    PlanThrough(
        part, tensor::PackedOf(DType::kF64, to.shape()), both, to,
        [&](Plan& add, const auto& in, const Operand& counts) {
          PlanBincount(add, in[0], of_each.present() ? in[1] : Operand{}, counts, true);
        },
        [&](Plan& copy, const auto&, const Operand& counts, const Operand& end) {
          Copy(copy, DType::kF64, counts, end);
        });
  };
  PlanThrough(
      plan, tensor::PackedOf(DType::kI64, self.shape()), given, out,
      [&](Plan& part, const auto& in, const Operand& numbers) { Copy(part, DType::kI64, in[0], numbers); },
      [&](Plan& part, const auto& in, const Operand& numbers, const Operand& to) {
        if (!weights.present()) return count(part, numbers, {}, to);
        PlanThrough(
            part, tensor::PackedOf(DType::kF64, self.shape()), {&numbers, &in[1]}, to,
            [&](Plan& copy, const auto& from, const Operand& wide) {
              Copy(copy, DType::kF64, from[1], wide);
            },
            [&](Plan& last, const auto& from, const Operand& wide, const Operand& end) {
              count(last, from[0], wide, end);
            });
      });
}

// Whether all differ, or whether one is equal.
void IsInScalarTensor(Plan& plan, DType, const Operand& element, const Operand& testElements,
                      bool /*assumeUnique*/, bool invert, const Operand& out) {
  PlanThrough(
      plan, tensor::PackedOf(DType::kBool, testElements.shape()), {&testElements}, out,
      [&](Plan& part, const auto& in, const Operand& truths) {
        invert ? NotEqual(part, DType::kBool, in[0], element, truths)
               : Equal(part, DType::kBool, in[0], element, truths);
      },
      [&](Plan& part, const auto&, const Operand& truths, const Operand& to) {
        invert ? All(part, DType::kBool, truths, {}, false, to)
               : Any(part, DType::kBool, truths, {}, false, to);
      });
}

void IsInTensorScalar(Plan& plan, DType, const Operand& element, const Operand& testElement,
                      bool /*assumeUnique*/, bool invert, const Operand& out) {
  invert ? NotEqual(plan, DType::kBool, element, testElement, out)
         : Equal(plan, DType::kBool, element, testElement, out);
}

}  // namespace belay::ops::kernels
