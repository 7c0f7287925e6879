// Operators that are others in a row, or others on views.
#include "base/error.h"
#include "ops/elementwise/unlisted.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rules.h"
#include "ops/sequence.h"
#include "tensor/codes.h"
#include "tensor/dims.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

const Scalar& One() {
  static const int64_t value = 1;
  static const Scalar one(&value, DType::kI64);
  return one;
}

}  // namespace

void Plus(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out) {
  Add(plan, compute, self, other, One(), out);
}
void Minus(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out) {
  Sub(plan, compute, self, other, One(), out);
}

void Complex(Plan& plan, DType compute, const Operand& real, const Operand& imag, const Operand& out) {
  Sequence parts(plan);
  for (int i = 0; i < 2; ++i) {
    const Tensor to = tensor::PartsOf(*out.tensor, i);
    const Operand& from = i == 0 ? real : imag;
    if (from.dtype() != to.dtype) {
      Fail(tensor::kInvalidArgument, "op-same-type", "{} is {} and {} is {}; its parts are {}", from.name,
           NameOf(from.dtype()), out.name, NameOf(out.dtype()), NameOf(to.dtype));
    }
    parts.Add([&](Plan& part) { Copy(part, compute, from, {&to, nullptr, out.binding, out.name}); });
  }
  parts.Finish();
}

void SumOfTensors(Plan& plan, DType, const OperandList& tensors, const Operand& out) {
  if (tensors.empty())
    Fail(tensor::kInvalidArgument, "op-empty-list", "tensors is empty; it needs one or more tensors");
  Shape shape = tensors[0].shape();
  for (const Operand& each : tensors) {
    CheckSameType(each, out);
    const std::optional<Shape> wider = BroadcastShapes(shape, each.shape());
    if (!wider) {
      Fail(tensor::kInvalidArgument, "op-broadcast",
           "a tensor of {} does not broadcast to the others, which make {}", each.shape().ToString(),
           shape.ToString());
    }
    shape = *wider;
  }
  CheckShape(out, shape);
  Sequence parts(plan);
  if (tensors.size() == 1) {
    parts.Add([&](Plan& part) { Copy(part, out.dtype(), tensors[0], out); });
  } else {
    parts.Add([&](Plan& part) { Plus(part, out.dtype(), tensors[0], tensors[1], out); });
  }
  for (size_t i = 2; i < tensors.size(); ++i) {
    parts.Add([&](Plan& part) { Plus(part, out.dtype(), out, tensors[i], out); });
  }
  parts.Finish();
}

void OuterProduct(Plan& plan, DType compute, const Operand& self, const Operand& vec2, const Operand& out) {
  if (self.shape().rank() != 1 || vec2.shape().rank() != 1) {
    Fail(tensor::kInvalidArgument, "op-vector", "{} has shape {} and {} has {}; both need one dimension",
         self.name, self.shape().ToString(), vec2.name, vec2.shape().ToString());
  }
  CheckShape(out, Shape{self.shape()[0], vec2.shape()[0]});
  Tensor column = *self.tensor;
  column.shape.push_back(1);
  column.strides.push_back(0);
  Mul(plan, compute, {&column, nullptr, self.binding, self.name}, vec2, out);
}

void MaskedFill(Plan& plan, DType, const Operand& self, const Operand& mask, const Scalar& value,
                const Operand& out) {
  Where(plan, out.dtype(), mask, {nullptr, &value, -1, "value"}, self, out);
}

}  // namespace belay::ops::kernels
