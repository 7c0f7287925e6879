#include "ops/conv/near_taps.h"

#include <algorithm>

#include "ops/conv/ready_conv.h"

namespace belay::ops {
namespace {

struct TapRange {
  int64_t begin, end;
};

// Of one dimension: what is left when taps at either end go that reach the input at no position.
TapRange TapsWithin(int64_t kernel, int64_t in, int64_t out, int64_t stride, int64_t dilation, int64_t before,
                    int64_t after) {
  const auto reaches = [&](int64_t tap) {
    const int64_t at = tap * dilation - before;  // read at the first position
    const int64_t first = at >= 0 ? 0 : (-at + stride - 1) / stride;
    return first < out && first * stride + at < in;
  };
  TapRange taps{0, kernel};
  // What is left of a padding is no less than nothing.
  while (taps.end - taps.begin > 1 && !reaches(taps.begin) && before >= (taps.begin + 1) * dilation)
    ++taps.begin;
  while (taps.end - taps.begin > 1 && !reaches(taps.end - 1) && after >= (kernel - taps.end + 1) * dilation)
    --taps.end;
  return taps;
}

}  // namespace

NearTaps::NearTaps(const ConvArgs& args, const ConvGeometry& geometry) : OtherTaps(args) {
  if (args.transposed) return;
  const int spatial = args.weight.shape().rank() - 2;
  for (int i = 0; i < spatial; ++i) {
    const auto k = static_cast<size_t>(i);
    const int d = i + 2;
    const int64_t kernel = weight_.shape[d];
    const TapRange taps = TapsWithin(kernel, args.input.shape()[d], args.out.shape()[d], args.strides[k],
                                     args.dilations[k], args.before[k], args.after[k]);
    weight_.shape[d] = taps.end - taps.begin;
    weight_.offset += taps.begin * weight_.strides[d];
    before_[k] = args.before[k] - taps.begin * args.dilations[k];
    after_[k] = args.after[k] - (kernel - taps.end) * args.dilations[k];
  }
  if (weight_.shape == args.weight.tensor->shape) return;
  if (args.packed_weight != nullptr && IsOfWeights(ParseWeightLayout(args.packed_weight->layout), geometry))
    return;
  Take();
}

}  // namespace belay::ops
