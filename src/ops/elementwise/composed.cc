// Operators that are others in a row, or others on views.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/elementwise/unlisted.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rules.h"
#include "ops/sequence.h"
#include "tensor/codes.h"
#include "tensor/dims.h"
#include "tensor/promote.h"
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

namespace {

// join(part, its type, a, b, to): of the first two, and then of that and each of the others.
template <class Join>
void Joined(Plan& plan, const OperandList& tensors, const Operand& out, const Join& join) {
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
    parts.Add([&](Plan& part) { join(part, out.dtype(), tensors[0], tensors[1], out); });
  }
  for (size_t i = 2; i < tensors.size(); ++i) {
    parts.Add([&](Plan& part) { join(part, out.dtype(), out, tensors[i], out); });
  }
  parts.Finish();
}

}  // namespace

void SumOfTensors(Plan& plan, DType, const OperandList& tensors, const Operand& out) {
  Joined(plan, tensors, out, Plus);
}

void MaxN(Plan& plan, DType, const OperandList& tensors, const Operand& out) {
  Joined(plan, tensors, out, Maximum);
}

void MinN(Plan& plan, DType, const OperandList& tensors, const Operand& out) {
  Joined(plan, tensors, out, Minimum);
}

void AddRelu(Plan& plan, DType compute, const Operand& self, const Operand& other, const Scalar& alpha,
             const Operand& out) {
  Sequence parts(plan);
  parts.Add([&](Plan& part) { Add(part, compute, self, other, alpha, out); });
  parts.Add([&](Plan& part) { Relu(part, out.dtype(), out, out); });
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

void FillDiagonal(Plan& plan, DType, const Operand& self, const Scalar& fillValue, bool wrap,
                  const Operand& out) {
  const Shape& shape = self.shape();
  const bool cube = std::all_of(shape.begin(), shape.end(), [&](int64_t size) { return size == shape[0]; });
  if (shape.rank() < 2 || (shape.rank() > 2 && !cube)) {
    Fail(tensor::kInvalidArgument, "op-diagonal",
         "{} has the shape {}; a diagonal is that of a matrix, or of more dimensions of one size", self.name,
         shape.ToString());
  }
  // A matrix that goes on has a diagonal in each block of width + 1 rows.
  const int64_t width = shape.back(0), block = width + 1;
  const int64_t whole = wrap && shape.rank() == 2 ? shape[0] / block : 0;
  const tensor::Strides& strides = out.tensor->strides;
  const int64_t step = std::accumulate(strides.begin(), strides.end(), int64_t{0});
  Tensor blocks = *out.tensor, rest = *out.tensor;
  blocks.shape = Shape{whole, width}, blocks.strides = tensor::Strides{block * strides[0], step};
  rest.shape = Shape{std::min(width, shape[0] - whole * block)}, rest.strides = tensor::Strides{step};
  rest.offset += whole * block * strides[0];
  Sequence parts(plan);
  if (self.binding != out.binding) parts.Add([&](Plan& part) { Copy(part, out.dtype(), self, out); });
  for (const Tensor* places : {&blocks, &rest}) {
    parts.Add([&](Plan& part) {
      Fill(part, out.dtype(), fillValue, {places, nullptr, out.binding, out.name});
    });
  }
  parts.Finish();
}

void MaskedFill(Plan& plan, DType, const Operand& self, const Operand& mask, const Scalar& value,
                const Operand& out) {
  Where(plan, out.dtype(), mask, {nullptr, &value, -1, "value"}, self, out);
}

namespace {

// The one element of a tensor, without dimensions, where it can be written to `out`.
Tensor OneFor(const Operand& value, const Operand& out) {
  CheckOne(value);
  if (!tensor::CanCast(value.dtype(), out.dtype()) && !tensor::CanConvert(out.dtype(), value.dtype())) {
    Fail(tensor::kInvalidArgument, "op-promote", "{} ({}) does not become {} ({})", value.name,
         NameOf(value.dtype()), out.name, NameOf(out.dtype()));
  }
  Tensor one = *value.tensor;
  one.shape = one.strides = {};
  return one;
}

}  // namespace

void MaskedFillTensor(Plan& plan, DType, const Operand& self, const Operand& mask, const Operand& value,
                      const Operand& out) {
  const Tensor one = OneFor(value, out);
  Where(plan, out.dtype(), mask, {&one, nullptr, value.binding, value.name}, self, out);
}

void FillTensor(Plan& plan, DType, const Operand& value, const Operand& out) {
  if (value.shape().rank() > 1) CheckShape(value, Shape{1});
  const Tensor one = OneFor(value, out);
  Copy(plan, out.dtype(), {&one, nullptr, value.binding, value.name}, out);
}

}  // namespace belay::ops::kernels
