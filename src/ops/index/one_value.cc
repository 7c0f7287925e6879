// One number in the places that a tensor of indices names, and elements by their place in the whole tensor.
#include "base/error.h"
#include "ops/index/scatter.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rules.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

// scatter(part, self, index, the number spread over `shape`, out)
template <class Scatter>
void WithNumber(Plan& plan, const Operand& self, const Operand& index, const Scalar& value,
                const Shape& shape, const Operand& out, const Scatter& scatter) {
  if (!tensor::CanConvert(out.dtype(), value.dtype()) && out.dtype() != DType::kC64) {
    Fail(tensor::kInvalidArgument, "op-promote", "value ({}) and {} ({}) have no common type",
         NameOf(value.dtype()), out.name, NameOf(out.dtype()));
  }
  PlanThrough(
      plan, tensor::PackedOf(out.dtype(), Shape{}), {&index, &self}, out,
      [&](Plan& part, const auto&, const Operand& number) { Fill(part, out.dtype(), value, number); },
      [&](Plan& part, const auto& in, const Operand& number, const Operand& result) {
        const Tensor spread = tensor::Expanded(*number.tensor, shape);
        scatter(part, self.binding == out.binding ? result : in[1], in[0],
                Operand{&spread, nullptr, number.binding, "value"}, result);
      });
}

}  // namespace

void ScatterValue(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& index,
                  const Scalar& value, int64_t reduction, const Operand& out) {
  WithNumber(
      plan, self, index, value, index.shape(), out,
      [&](Plan& part, const Operand& old, const Operand& places, const Operand& number,
          const Operand& result) { Scatter(part, DType{}, old, dim, places, number, reduction, result); });
}

void IndexFillAt(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& index,
                 const Scalar& value, const Operand& out) {
  CheckShape(out, self.shape());
  Shape rows = self.shape();
  if (rows.rank() > 0) rows[rules::WrapDim(self, dim)] = index.tensor->count();
  WithNumber(plan, self, index, value, rows, out,
             [&](Plan& part, const Operand& old, const Operand& places, const Operand& number,
                 const Operand& result) {
               PlanScatterRows(part, old, dim, places, number, Combination::kReplace, 1, result);
             });
}

void Take(Plan& plan, DType, const Operand& self, const Operand& index, const Operand& out) {
  const auto pick = [&](Plan& part, const Operand& packed, const Operand& places, const Operand& result) {
    Tensor flat = *packed.tensor;
    flat.shape = Shape{flat.count()}, flat.strides = tensor::Strides{1};
    GatherAxis(part, DType{}, {&flat, nullptr, packed.binding, packed.name}, 0, places, result);
  };
  CheckSameType(self, out);
  if (tensor::IsPacked(self.shape(), self.tensor->strides)) return pick(plan, self, index, out);
  PlanThrough(
      plan, tensor::PackedOf(self.dtype(), self.shape()), {&index, &self}, out,
      [&](Plan& part, const auto& in, const Operand& packed) { Copy(part, self.dtype(), in[1], packed); },
      [&](Plan& part, const auto& in, const Operand& packed, const Operand& result) {
        pick(part, packed, in[0], result);
      });
}

}  // namespace belay::ops::kernels
