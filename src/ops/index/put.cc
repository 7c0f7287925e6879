// Writing to places that are counted row by row over a whole tensor.
#include "ops/index/scatter.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

Tensor FlatOf(const Operand& packed) {
  Tensor flat = *packed.tensor;
  flat.shape = Shape{flat.count()}, flat.strides = tensor::Strides{1};
  return flat;
}

void PutRows(Plan& plan, const Tensor& updates, int from, const Operand& index, bool accumulate,
             const Tensor& flat, int to) {
  const Operand out{&flat, nullptr, to, "selfRef"};
  PlanScatterRows(plan, out, 0, index, {&updates, nullptr, from, "source"},
                  accumulate ? Combination::kAdd : Combination::kReplace, 1, out);
}

// Into what is packed. Of COMPLEX128, real and imaginary parts are added each on their own.
void PutInto(Plan& plan, const Operand& updates, const Operand& index, bool accumulate, const Operand& out) {
  const Tensor from = FlatOf(updates), to = FlatOf(out);
  if (!accumulate || to.dtype != DType::kC128)
    return PutRows(plan, from, updates.binding, index, accumulate, to, out.binding);
  Sequence parts(plan);
  for (int i = 0; i < 2; ++i) {
    parts.Add([&](Plan& part) {
      PutRows(part, tensor::PartsOf(from, i), updates.binding, index, accumulate, tensor::PartsOf(to, i),
              out.binding);
    });
  }
  parts.Finish();
}

}  // namespace

// Its one form is in place: self is out.
void Put(Plan& plan, DType, const Operand& self, const Operand& index, const Operand& source, bool accumulate,
         const Operand& out) {
  CheckSameType(self, source);
  CheckLength(source.name, source.tensor->count(), index.tensor->count());
  const DType type = self.dtype();
  PlanThrough(
      plan, tensor::PackedOf(type, source.shape()), {&index, &source}, out,
      [&](Plan& part, const auto& in, const Operand& updates) { Copy(part, type, in[1], updates); },
      [&](Plan& part, const auto& in, const Operand& updates, const Operand& to) {
        if (tensor::IsPacked(to.shape(), to.tensor->strides))
          return PutInto(part, updates, in[0], accumulate, to);
        PlanThrough(
            part, tensor::PackedOf(type, to.shape()), {&in[0], &updates, &to}, to,
            [&](Plan& make, const auto& from, const Operand& packed) {
              Sequence parts(make);
              parts.Add([&](Plan& copy) { Copy(copy, type, from[2], packed); });
              parts.Add([&](Plan& put) { PutInto(put, from[1], from[0], accumulate, packed); });
              parts.Finish();
            },
            [&](Plan& copy, const auto&, const Operand& packed, const Operand& end) {
              Copy(copy, type, packed, end);
            });
      });
}

}  // namespace belay::ops::kernels
