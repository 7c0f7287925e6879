#include "ops/rules.h"

#include "base/error.h"
#include "tensor/codes.h"
#include "tensor/promote.h"

namespace belay::ops::rules {

using tensor::kInvalidArgument;

Shape Same(const Operand& self) { return self.shape(); }

Shape Broadcast(const Operand& self, const Operand& other) {
  if (other.tensor == nullptr) return self.shape();
  std::optional<Shape> shape = BroadcastShapes(self.tensor->shape, other.tensor->shape);
  if (!shape) {
    Fail(kInvalidArgument, "op-broadcast", "{} {} and {} {} do not broadcast together", self.name,
         self.shape().ToString(), other.name, other.shape().ToString());
  }
  return *shape;
}

Shape BroadcastOnto(const Operand& self, const Operand& other) {
  if (!BroadcastsTo(other.shape(), self.shape())) {
    Fail(kInvalidArgument, "op-broadcast", "{} {} does not broadcast to {} {}", other.name,
         other.shape().ToString(), self.name, self.shape().ToString());
  }
  return self.shape();
}

DType Promote(const Operand& self, const Operand& other, const Operand& out) {
  DType type;
  if (other.tensor != nullptr) {
    type = tensor::Promote(self.dtype(), other.dtype());
  } else {
    type = PromoteScalar(self.dtype(), other.dtype());
    if (!CanCast(type, out.dtype()) && CanCast(self.dtype(), out.dtype()) &&
        other.scalar->IsWhole()) {
      type = self.dtype();
    }
  }
  if (type == DType::kUndefined) {
    Fail(kInvalidArgument, "op-promote", "{} ({}) and {} ({}) have no common type", self.name,
         NameOf(self.dtype()), other.name, NameOf(other.dtype()));
  }
  return type;
}

DType PromoteAlpha(const Operand& self, const Operand& other, const Scalar& alpha,
                   const Operand& out) {
  DType type = Promote(self, other, out);
  if (!CanCast(alpha.dtype(), type) && !alpha.IsWhole()) {
    Fail(kInvalidArgument, "op-alpha", "alpha is {}, which cannot be converted to {}",
         alpha.ToString(), NameOf(type));
  }
  return type;
}

DType OfSelf(const Operand& self) { return self.dtype(); }

DType Wanted(DType dtype, const Operand& out) {
  if (dtype != out.dtype()) {
    Fail(kInvalidArgument, "op-wanted-dtype", "dtype is {}, but {} is {}", NameOf(dtype), out.name,
         NameOf(out.dtype()));
  }
  return dtype;
}

}  // namespace belay::ops::rules
