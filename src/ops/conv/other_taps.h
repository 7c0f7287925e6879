// A convolution by other weights and paddings than it was asked for by, which give the same.
#pragma once

#include <array>

#include "ops/conv/conv.h"

namespace belay::ops {

class OtherTaps {
 public:
  OtherTaps(const OtherTaps&) = delete;
  OtherTaps& operator=(const OtherTaps&) = delete;

  // As long as this and what it was made of live.
  const ConvArgs& args() const { return args_; }

 protected:
  explicit OtherTaps(const ConvArgs& args) : args_(args), weight_(*args.weight.tensor) {}

  // The view of the weights and the paddings become the convolution's.
  void Take() {
    const size_t spatial = args_.strides.size();
    args_.weight.tensor = &weight_;
    args_.before = {before_.data(), spatial}, args_.after = {after_.data(), spatial};
  }

  ConvArgs args_;
  Tensor weight_;
  std::array<int64_t, 3> before_, after_;
};

}  // namespace belay::ops
