// Pooling as plans: the largest, the mean or the norm of what windows see.
#pragma once

#include <memory>
#include <vector>

#include "ops/schema.h"

namespace belay::ops {

// What one output position sees along one dimension: `count` elements from `first`, `step` apart.
// `padded`: how many there would be if those in the padding counted too. `start`, `taps`: of the whole
// window, wherever it reaches.
struct PoolSpan {
  int64_t first, count, step, padded;
  int64_t start = first, taps = count;
};

// For each position along a dimension.
using PoolSpans = std::vector<PoolSpan>;

struct PoolDimension {
  int64_t in, kernel, stride, dilation, before, after;
};

// Whether there are windows with these numbers: kernel, stride and dilation from 1 on, and none beyond 2^31.
bool IsWindow(const PoolDimension& d);

// With `ceil` a last window that sticks out counts, if it begins within the input or the padding before it.
int64_t PoolOutputSize(const PoolDimension& d, bool ceil);
PoolSpans SlidingSpans(const PoolDimension& d, int64_t out);
// out windows that divide the input evenly.
PoolSpans AdaptiveSpans(int64_t in, int64_t out);

enum class PoolKind { kMax, kMean, kNorm };

struct PoolArgs {
  PoolKind kind;
  Operand input, out;            // [n, c, spatial...], one to three spatial dimensions, in any layout
  Operand places;                // of kMax: which element it was; may be absent
  std::vector<PoolSpans> spans;  // for each spatial dimension
  bool count_padding = false;    // of kMean
  int64_t divisor = 0;           // of kMean: instead of the count, when not 0
  double norm = 2;
  bool places_in_plane = false;  // counted within the image and channel, not the whole input
  bool column_major = false;     // places count spatial dimensions from the first to the last
};

// Rows of fewer elements fill no vector: such planes are better turned, so that their channels come last.
inline constexpr int64_t kShortestPooledRow = 8;

void PlanPool(Plan& plan, const PoolArgs& args);

}  // namespace belay::ops
