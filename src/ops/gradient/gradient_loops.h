// Loops of gradients, compiled for each instruction set.
#pragma once

#include "ops/elementwise/pointwise.h"

namespace belay::ops {

// a is the gradient of the result.
PointwiseLoops BestSiluGradLoops();  // b: the operand
PointwiseLoops BestGeluGradLoops();  // likewise
PointwiseLoops BestGeluTanhGradLoops();
// Of gelu(b) * c by b.
PointwiseLoops BestGeluGateGradLoops();
PointwiseLoops BestGeluTanhGateGradLoops();
// Of silu(b) * c by b; by c, whose factor is given.
PointwiseLoops BestGateGradLoops();
PointwiseLoops BestGatedGradLoops();
PointwiseLoops BestThresholdGradLoops();  // of what is b above p; also of integers
// Along a row, with p what is common to it.
PointwiseLoops BestProductLoops();         // a * b
PointwiseLoops BestSoftmaxGradLoops();     // b * (a - p)
PointwiseLoops BestLogSoftmaxGradLoops();  // a - exp(b) * p

}  // namespace belay::ops
