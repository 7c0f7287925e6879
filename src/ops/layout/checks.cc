#include "ops/layout/checks.h"

#include "base/error.h"
#include "tensor/codes.h"

namespace belay::ops {

void CheckShape(const Operand& out, const Shape& wanted) {
  if (out.tensor->shape == wanted) return;
  Fail(tensor::kInvalidArgument, "op-out-shape", "{} has shape {}, but the result has {}", out.name,
       out.tensor->shape.ToString(), wanted.ToString());
}

void CheckSameType(const Operand& self, const Operand& out) {
  if (self.dtype() == out.dtype()) return;
  Fail(tensor::kInvalidArgument, "op-same-type", "{} is {} and {} is {}; both need one type", self.name,
       NameOf(self.dtype()), out.name, NameOf(out.dtype()));
}

void CheckNumeric(const Operand& operand) {
  if (tensor::CanConvert(DType::kF64, operand.dtype())) return;
  Fail(tensor::kInvalidArgument, "op-numeric", "{} is {}, with which this operator cannot compute",
       operand.name, NameOf(operand.dtype()));
}

void CheckLength(const char* name, int64_t seen, int64_t wanted) {
  if (seen == wanted) return;
  Fail(tensor::kInvalidArgument, "op-length", "{} has {} numbers; {} are needed", name, seen, wanted);
}

}  // namespace belay::ops
