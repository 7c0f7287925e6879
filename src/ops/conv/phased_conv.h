// Transposed convolutions in steps of several pixels, which are gradients of strided ones, as plain
// convolutions: the places of the result that leave the same remainder when they are divided by the steps
// hear of the same taps, one step apart.
#pragma once

#include "ops/conv/conv_backend.h"

namespace belay::ops {

// Whether it pays beside other ways. `halves`: of BFLOAT16.
bool PaysInPhases(const ConvGeometry& geometry, bool halves);

// By oneDNN; null where its library is missing.
const ConvBackend* PhasedConv();

}  // namespace belay::ops
