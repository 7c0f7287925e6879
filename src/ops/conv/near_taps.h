// A convolution without the taps of its kernel that only ever meet padding, as most of a kernel does whose
// dilation is larger than the image: three by three taps, 36 apart, are one over an image of 12 x 12.
#pragma once

#include <array>

#include "ops/conv/conv.h"

namespace belay::ops {

class NearTaps {
 public:
  // `args` and `geometry` belong together. Weights that were packed with all taps keep them.
  NearTaps(const ConvArgs& args, const ConvGeometry& geometry);
  NearTaps(const NearTaps&) = delete;
  NearTaps& operator=(const NearTaps&) = delete;

  // As long as this and what it was made of live.
  const ConvArgs& args() const { return args_; }

 private:
  ConvArgs args_;
  Tensor weight_;
  std::array<int64_t, 3> before_, after_;
};

}  // namespace belay::ops
