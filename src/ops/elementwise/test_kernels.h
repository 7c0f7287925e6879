// For tests of elementwise kernels: how those of one operand and of two are called.
#pragma once

#include "ops/plan.h"
#include "ops/schema.h"

namespace belay::ops {

using UnaryKernel = void (*)(Plan&, DType, const Operand&, const Operand&);
using BinaryKernel = void (*)(Plan&, DType, const Operand&, const Operand&, const Operand&);

}  // namespace belay::ops
