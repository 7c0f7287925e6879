#include "ops/layout/checks.h"

#include <string>

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

void CheckOne(const Operand& operand, int64_t place) {
  if (operand.tensor->count() == 1) return;
  Fail(tensor::kInvalidArgument, "op-out-shape", "{}{} has shape {}; it needs one element", operand.name,
       place < 0 ? "" : "[" + std::to_string(place) + "]", operand.shape().ToString());
}

void CheckElements(const Operand& operand, int64_t wanted) {
  if (!operand.present() || operand.tensor->count() == wanted) return;
  Fail(tensor::kInvalidArgument, "op-norm-shape", "{} {} has {} elements; the operator needs {}",
       operand.name, operand.shape().ToString(), operand.tensor->count(), wanted);
}

}  // namespace belay::ops
