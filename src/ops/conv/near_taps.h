// A convolution without the taps of its kernel that only ever meet padding, as most of a kernel does whose
// dilation is larger than the image: three by three taps, 36 apart, are one over an image of 12 x 12.
#pragma once

#include "ops/conv/other_taps.h"

namespace belay::ops {

class NearTaps : public OtherTaps {
 public:
  // `args` and `geometry` belong together. Weights that were packed with all taps keep them.
  NearTaps(const ConvArgs& args, const ConvGeometry& geometry);
};

}  // namespace belay::ops
