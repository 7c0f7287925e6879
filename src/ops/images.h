// Images whose description says that their channels come last.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/objects.h"

namespace belay::ops {

// [n, h, w, c] of ACL_FORMAT_NHWC, or [n, d, h, w, c] of ACL_FORMAT_NDHWC.
inline bool HasChannelsLast(const tensor::Tensor& t) {
  return (t.format == tensor::Format::kNHWC && t.shape.rank() == 4) ||
         (t.format == tensor::Format::kNDHWC && t.shape.rank() == 5);
}

// Sizes or strides that end with that of the channels, with it behind the first.
template <class Sizes>
void BringChannelsForward(Sizes& sizes, int rank) {
  const int64_t channels = sizes[rank - 1];
  for (int d = rank - 1; d > 1; --d) sizes[d] = sizes[d - 1];
  sizes[1] = channels;
}

// A bit for each parameter of the operator that may be described so; its kernel is given the view with the
// channels behind the first dimension, which keeps the format.
uint64_t ImageParams(std::string_view op);

}  // namespace belay::ops
