// Convolutions whose rows have much padding, with AVX2: oneDNN's fast loops for them take little of it, so
// that it reads rows that are padded before.
#pragma once

#include "ops/conv/conv_backend.h"

namespace belay::ops {

// oneDNN's, which is there where PaddedPays. Weights are finite: they are multiplied with the padding.
const ConvBackend& PaddedConv();

// Whether this is faster than what oneDNN does by itself.
bool PaddedPays(const ConvSpec& spec);

}  // namespace belay::ops
