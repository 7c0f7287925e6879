#include "ops/index/masked_scatter.h"

#include <cstring>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct MaskedScatterBody {
  int x, mask, updates, out;
  int64_t count, available;
  size_t bytes;

  void operator()(const Frame& frame) const {
    const char* chosen = frame.at[mask];
    const char* next = frame.at[updates];
    char* to = frame.at[out];
    std::memmove(to, frame.at[x], static_cast<size_t>(count) * bytes);
    int64_t used = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (chosen[i] == 0) continue;
      if (used++ == available)
        Fail(tensor::kRuntimeFailure, "masked-scatter-few", "the mask chooses more than the {} updates",
             available);
      std::memcpy(to + static_cast<size_t>(i) * bytes, next, bytes);
      next += bytes;
    }
  }
};

}  // namespace

void PlanMaskedScatter(Plan& plan, const Operand& x, const Operand& mask, const Operand& updates,
                       const Operand& out) {
  if (out.tensor->empty()) return;
  plan.SetBody(MaskedScatterBody{x.binding, mask.binding, updates.binding, out.binding, x.tensor->count(),
                                 updates.tensor->count(), BytesOf(x.dtype())});
}

namespace kernels {
namespace {

// `out` holds self already.
void ScatterMasked(Plan& plan, const Operand& mask, const Operand& updates, const Operand& out) {
  if (tensor::IsPacked(out.shape(), out.tensor->strides)) {
    // Bodies of packed tensors begin at their bindings.
    if (out.tensor->offset == 0) return PlanMaskedScatter(plan, out, mask, updates, out);
  }
  PlanThrough(
      plan, tensor::PackedOf(out.dtype(), out.shape()), {&out, &mask, &updates}, out,
      [&](Plan& part, const auto& in, const Operand& packed) {
        Sequence parts(part);
        parts.Add([&](Plan& copy) { Copy(copy, out.dtype(), in[0], packed); });
        parts.Add([&](Plan& scatter) { PlanMaskedScatter(scatter, packed, in[1], in[2], packed); });
        parts.Finish();
      },
      [&](Plan& part, const auto&, const Operand& packed, const Operand& to) {
        Copy(part, out.dtype(), packed, to);
      });
}

}  // namespace

// Its one form is in place: self is out.
void MaskedScatter(Plan& plan, DType, const Operand& self, const Operand& mask, const Operand& source,
                   const Operand& out) {
  CheckSameType(self, source);
  PlanThrough(
      plan, tensor::PackedOf(DType::kBool, out.shape()), {&mask, &source}, out,
      [&](Plan& part, const auto& in, const Operand& chosen) { Copy(part, DType::kBool, in[0], chosen); },
      [&](Plan& part, const auto& in, const Operand& chosen, const Operand& to) {
        PlanThrough(
            part, tensor::PackedOf(source.dtype(), source.shape()), {&chosen, &in[1]}, to,
            [&](Plan& copy, const auto& from, const Operand& updates) {
              Copy(copy, source.dtype(), from[1], updates);
            },
            [&](Plan& scatter, const auto& from, const Operand& updates, const Operand& end) {
              ScatterMasked(scatter, from[0], updates, end);
            });
      });
}

}  // namespace kernels
}  // namespace belay::ops
