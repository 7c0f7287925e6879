#include "ops/conv/turned_taps.h"

#include <algorithm>
#include <utility>

namespace belay::ops {

TurnedTaps::TurnedTaps(const ConvArgs& args) : OtherTaps(args) {
  const auto spatial = args.strides.size();
  const bool steps = std::any_of(args.strides.begin(), args.strides.end(), [](int64_t s) { return s != 1; });
  if (!args.transposed || args.groups != 1 || steps) return;
  // The columns of the kernel and the channels of the result together would not fill a vector: what the
  // pixels send to all taps does.
  constexpr int64_t kVector = 16;
  if (weight_.shape[1] * weight_.shape.back(0) < kVector) return;
  std::swap(weight_.shape[0], weight_.shape[1]);
  std::swap(weight_.strides[0], weight_.strides[1]);
  for (size_t k = 0; k < spatial; ++k) {
    const int d = static_cast<int>(k) + 2;
    const int64_t reach = (weight_.shape[d] - 1) * args.dilations[k];
    before_[k] = reach - args.before[k];
    after_[k] = args.out.shape()[d] - args.input.shape()[d] + args.before[k];
    if (before_[k] < 0 || after_[k] < 0) return;
    weight_.offset += (weight_.shape[d] - 1) * weight_.strides[d];
    weight_.strides[d] = -weight_.strides[d];
  }
  args_.transposed = false;
  Take();
  args_.output_padding = {};
}

}  // namespace belay::ops
