// Plans whose kernels write packed tensors only, for results that may lie in any way.
#pragma once

#include <vector>

#include "ops/kernels.h"
#include "ops/through.h"
#include "tensor/views.h"

namespace belay::ops {

// make(part, inputs, packed) plans `out` itself where it is packed, else a tensor in the workspace that is
// copied to it.
template <class Make>
void OverPacked(Plan& plan, const std::vector<const Operand*>& in, const Operand& out, const Make& make) {
  if (tensor::IsPacked(out.shape(), out.tensor->strides)) {
    ThroughBody::Inputs inputs;
    size_t next = 0;
    for (const Operand* operand : in) inputs[next++] = *operand;
    return make(plan, inputs, out);
  }
  PlanThrough(plan, tensor::PackedOf(out.dtype(), out.shape()), in, out, make,
              [&](Plan& part, const auto&, const Operand& packed, const Operand& to) {
                kernels::Copy(part, out.dtype(), packed, to);
              });
}

}  // namespace belay::ops
