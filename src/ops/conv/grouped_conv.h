// Convolutions of groups of a few channels, or of a few channels by large kernels: one group after the other,
// whose pixels are gathered from between those of the others and padded, so that sums of a few vectors of
// channels run along rows of pixels, whatever kernel, stride and dilation are.
#pragma once

#include "ops/conv/conv_backend.h"

namespace belay::ops {

// It takes what GroupedFits says.
const ConvBackend& GroupedConv();

// Whether it can compute this: images of plain convolutions, in FLOAT.
bool GroupedFits(const ConvSpec& spec);
// ... and groups are so small that it is faster than oneDNN.
bool GroupedPays(const ConvSpec& spec);

}  // namespace belay::ops
