// The gradient of a convolution's weights.
#pragma once

#include "ops/conv/conv.h"

namespace belay::ops {

// grad_weight [out, in / groups, kernel...] = what each element of `weight` has moved of `grad`, which is the
// gradient of the convolution's result. `args` describe the convolution: input, weight (only its shape
// counts), out: the gradient. Not transposed. In f32, with sums of products' sums in f64.
void PlanWeightGradient(Plan& plan, const ConvArgs& args, const Operand& grad_weight);

}  // namespace belay::ops
