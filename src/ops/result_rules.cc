#include "ops/result_rules.h"

#include "base/error.h"
#include "tensor/codes.h"

namespace belay::ops::rules {
namespace {

using tensor::kInvalidArgument;

constexpr int64_t kByte = 8;

// `count` elements in rows of one length; what is left over is the kernel's to refuse.
Shape SignRows(const Operand& self, int64_t count, int64_t size) {
  if (size < 1)
    Fail(kInvalidArgument, "sign-bits", "size is {}; {} is put into one row or more", size, self.name);
  return {size, count / size};
}

}  // namespace

Shape StatisticOf(const Operand& x, const Operand& weights) {
  Shape shape = x.shape();
  const int dims = weights.shape().rank();
  if (dims > shape.rank()) {
    Fail(kInvalidArgument, "op-norm-shape", "{} {} has more dimensions than {} {}", weights.name,
         weights.shape().ToString(), x.name, shape.ToString());
  }
  for (int d = shape.rank() - dims; d < shape.rank(); ++d) shape[d] = 1;
  return shape;
}

Shape LossOfRows(const Operand& self, int64_t reduction) {
  const Shape& shape = self.shape();
  return reduction == 0 && shape.rank() == 2 ? Shape{shape[0]} : Shape{};
}

Shape GridOf(std::span<const int64_t> size) {
  const auto count = static_cast<int64_t>(size.size());
  if (count < 3 || count > 5)
    Fail(kInvalidArgument, "op-grid", "the size of the image has {} numbers; it needs three to five", count);
  Shape shape{size[0]};
  for (const int64_t each : size.subspan(2)) shape.push_back(each);
  shape.push_back(count - 2);
  return shape;
}

Shape PackedSigns(const Operand& self, int64_t size) {
  return SignRows(self, (self.tensor->count() + kByte - 1) / kByte, size);
}

Shape UnpackedSigns(const Operand& self, int64_t size) {
  return SignRows(self, self.tensor->count() * kByte, size);
}

DType CommonOrSingle(const Operand& self, const Operand& other) {
  return self.dtype() == other.dtype() ? self.dtype() : DType::kF32;
}

DType PlaceOf(const Operand& self) { return self.dtype() == DType::kI64 ? DType::kI64 : DType::kI32; }

}  // namespace belay::ops::rules
