// The functions of the C interface that take matrices or rows as wholes.
#include <cmath>

#include "base/error.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/gradients.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/linalg/linalg.h"
#include "ops/pipeline.h"
#include "ops/rules.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

void CheckNormOrder(double p) {
  if (p >= 0) return;
  Fail(tensor::kInvalidArgument, "op-norm-order", "p is {}; a norm has an order of 0 or more", p);
}

// Element i of a dimension, which keeps a size of one.
Tensor ElementOf(const Tensor& t, int dim, int64_t i) {
  Tensor part = t;
  part.offset += i * t.strides[dim];
  part.shape[dim] = 1;
  return part;
}

}  // namespace

void CheckSquare(const Operand& self) {
  const Shape& shape = self.shape();
  if (shape.rank() >= 2 && shape.back(0) == shape.back(1)) return;
  Fail(tensor::kInvalidArgument, "op-square", "{} has shape {}; its last two dimensions need one size",
       self.name, shape.ToString());
}

namespace kernels {

void Inverse(Plan& plan, DType, const Operand& self, const Operand& out) {
  CheckSquare(self);
  PlanInverse(plan, self, out);
}

void Slogdet(Plan& plan, DType, const Operand& self, const Operand& sign, const Operand& logarithm) {
  CheckSquare(self);
  const Shape left = Shape::Of(self.tensor->shape.data(), self.shape().rank() - 2);
  for (const Operand* out : {&sign, &logarithm}) {
    CheckSameType(self, *out);
    CheckShape(*out, left);
  }
  PlanLogDeterminant(plan, self, sign, logarithm);
}

void Pdist(Plan& plan, DType, const Operand& self, double p, const Operand& out) {
  const Shape& shape = self.shape();
  if (shape.rank() != 2) {
    Fail(tensor::kInvalidArgument, "op-rank", "{} has shape {}; it needs two dimensions", self.name,
         shape.ToString());
  }
  CheckNormOrder(p);
  CheckSameType(self, out);
  CheckShape(out, {shape[0] * (shape[0] - 1) / 2});
  PlanPairDistances(plan, self, p, out);
}

void Cdist(Plan& plan, DType, const Operand& x1, const Operand& x2, double p, int64_t, const Operand& out) {
  const Shape &a = x1.shape(), &b = x2.shape();
  CheckNormOrder(p);
  CheckSameType(x1, x2);
  CheckSameType(x1, out);
  std::optional<Shape> wanted;
  if (a.rank() >= 2 && b.rank() >= 2 && a.back(0) == b.back(0)) {
    wanted = BroadcastShapes(Shape::Of(a.data(), a.rank() - 2), Shape::Of(b.data(), b.rank() - 2));
  }
  if (!wanted) {
    Fail(tensor::kInvalidArgument, "op-distance-rows",
         "{} has shape {} and {} has {}; both have rows of one length, and what is before these broadcasts",
         x1.name, a.ToString(), x2.name, b.ToString());
  }
  wanted->push_back(a.back(1));
  wanted->push_back(b.back(1));
  CheckShape(out, *wanted);
  PlanDistances(plan, x1, x2, p, out);
}

// Element i is a[i + 1] * b[i + 2] - a[i + 2] * b[i + 1], counted in a circle.
void LinalgCross(Plan& plan, DType, const Operand& self, const Operand& other, int64_t dim,
                 const Operand& out) {
  CheckSameType(self, other);
  CheckSameType(self, out);
  const Shape& shape = out.tensor->shape;
  const int axis = rules::WrapDim(out, dim);
  if (shape.rank() == 0 || shape[axis] != 3) {
    Fail(tensor::kInvalidArgument, "op-cross",
         "{} and {} make the shape {}; dimension {} needs three elements", self.name, other.name,
         shape.ToString(), dim);
  }
  if (out.tensor->empty()) return;
  const Tensor a = tensor::Expanded(*self.tensor, shape), b = tensor::Expanded(*other.tensor, shape);
  const DType wide = ComputeType(out.dtype());
  Shape one = shape;
  one[axis] = 1;
  const Tensor between = tensor::PackedOf(wide, one);
  Sequence parts(plan);
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t next = (i + 1) % 3, last = (i + 2) % 3;
    const Tensor views[] = {ElementOf(a, axis, next), ElementOf(b, axis, last), ElementOf(a, axis, last),
                            ElementOf(b, axis, next), ElementOf(*out.tensor, axis, i)};
    const Operand in[] = {{&views[0], nullptr, self.binding, self.name},
                          {&views[1], nullptr, other.binding, other.name},
                          {&views[2], nullptr, self.binding, self.name},
                          {&views[3], nullptr, other.binding, other.name}};
    parts.Add([&](Plan& part) {
      PlanThrough(
          part, between, {&in[0], &in[1], &in[2], &in[3]}, {&views[4], nullptr, out.binding, out.name},
          [&](Plan& step, const auto& x, const Operand& product) { Mul(step, wide, x[0], x[1], product); },
          [&](Plan& step, const auto& x, const Operand& product, const Operand& to) {
            PlanPointwise(step, With(MinusProductLoops(), &ComplexMinusProduct), wide, {product, x[2], x[3]},
                          {}, to);
          });
    });
  }
  parts.Finish();
}

}  // namespace kernels
}  // namespace belay::ops
