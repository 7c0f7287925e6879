// A transposed convolution in steps of one pixel as the plain one that it is: its taps are turned round, and
// its padding is what the kernel reaches beyond the old one.
#pragma once

#include "ops/conv/other_taps.h"

namespace belay::ops {

class TurnedTaps : public OtherTaps {
 public:
  // Others stay what they are.
  explicit TurnedTaps(const ConvArgs& args);
};

}  // namespace belay::ops
