// Convolutions of images to a few channels, as networks end with that make pictures or sound. Vectors of so
// few channels would be half empty, so the columns of the kernel lie in them, too: each pixel of the input is
// multiplied with all columns at once, and the products are added up along the rows.
#pragma once

#include "ops/conv/conv_backend.h"

namespace belay::ops {

// It takes what NarrowFits says.
const ConvBackend& NarrowConv();

// Whether it can compute this: images of plain convolutions, in FLOAT, in one group, with steps of one pixel
// along the rows.
bool NarrowFits(const ConvSpec& spec);
// ... and it is faster than oneDNN.
bool NarrowPays(const ConvSpec& spec);

}  // namespace belay::ops
