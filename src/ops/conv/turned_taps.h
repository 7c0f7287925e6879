// A transposed convolution in steps of one pixel as the plain one that it is: its taps are turned round, and
// its padding is what the kernel reaches beyond the old one.
#pragma once

#include <array>

#include "ops/conv/conv.h"

namespace belay::ops {

class TurnedTaps {
 public:
  // Others stay what they are.
  explicit TurnedTaps(const ConvArgs& args);
  TurnedTaps(const TurnedTaps&) = delete;
  TurnedTaps& operator=(const TurnedTaps&) = delete;

  // As long as this and what it was made of live.
  const ConvArgs& args() const { return args_; }

 private:
  ConvArgs args_;
  Tensor weight_;
  std::array<int64_t, 3> before_, after_;
};

}  // namespace belay::ops
