// Dimensions in another order, and what is in them in another shape, in one call.
#include "ops/kernels.h"
#include "ops/through.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

Shape InOrder(const Shape& shape, std::span<const int64_t> perm) {
  Shape result;
  for (const int64_t dim : perm) result.push_back(shape[static_cast<int>(dim)]);
  return result;
}

// A packed tensor in another shape.
Tensor InShape(const Tensor& packed, const Shape& shape) {
  Tensor view = tensor::PackedOf(packed.dtype, shape);
  view.offset = packed.offset;
  return view;
}

Operand Viewed(const Operand& operand, const Tensor& view) {
  return {&view, nullptr, operand.binding, operand.name};
}

void PermuteFirst(Plan& plan, const Operand& self, std::span<const int64_t> perm, const Operand& out) {
  const Shape turned = InOrder(self.shape(), perm);
  if (tensor::IsPacked(out.shape(), out.tensor->strides)) {
    const Tensor view = InShape(*out.tensor, turned);
    return Permute(plan, out.dtype(), self, perm, Viewed(out, view));
  }
  PlanThrough(
      plan, tensor::PackedOf(self.dtype(), turned), {&self}, out,
      [&](Plan& part, const auto& in, const Operand& between) {
        Permute(part, out.dtype(), in[0], perm, between);
      },
      [&](Plan& part, const auto&, const Operand& between, const Operand& to) {
        const Tensor view = InShape(*between.tensor, out.shape());
        Copy(part, out.dtype(), Viewed(between, view), to);
      });
}

void ReshapeFirst(Plan& plan, const Operand& self, std::span<const int64_t> perm, const Shape& shape,
                  const Operand& out) {
  if (tensor::IsPacked(self.shape(), self.tensor->strides)) {
    const Tensor view = InShape(*self.tensor, shape);
    return Permute(plan, out.dtype(), Viewed(self, view), perm, out);
  }
  PlanThrough(
      plan, tensor::PackedOf(self.dtype(), self.shape()), {&self}, out,
      [&](Plan& part, const auto& in, const Operand& between) { Copy(part, out.dtype(), in[0], between); },
      [&](Plan& part, const auto&, const Operand& between, const Operand& to) {
        const Tensor view = InShape(*between.tensor, shape);
        Permute(part, out.dtype(), Viewed(between, view), perm, to);
      });
}

}  // namespace

void ConfusionTranspose(Plan& plan, DType, const Operand& self, std::span<const int64_t> perm,
                        std::span<const int64_t> shape, bool transposeFirst, const Operand& out) {
  if (out.tensor->empty()) return;
  if (transposeFirst) return PermuteFirst(plan, self, perm, out);
  ReshapeFirst(plan, self, perm, Shape::Of(shape.data(), static_cast<int>(shape.size())), out);
}

}  // namespace belay::ops::kernels
