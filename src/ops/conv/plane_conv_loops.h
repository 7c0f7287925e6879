// The sums of a convolution along memory.
#pragma once

#include <cstdint>

namespace belay::ops {

struct PlaneTaps {
  // So many elements behind the last may be read and written.
  static constexpr int64_t kSlack = 64;

  const float* from;
  const int64_t* offsets;  // of each tap's elements behind `from`
  const float* weights;
  int64_t taps;
  float bias, low, high;  // the result is clipped to [low, high]; NaN stays
};

struct PlaneConvLoops {
  // to[i] = bias + the sum of weights[k] * from[offsets[k] + i]
  void (*taps)(float* to, const PlaneTaps& taps, int64_t n);
  // to[i] = from[i * step]; kSlack elements more may be read.
  void (*pick)(float* to, const float* from, int64_t step, int64_t n);
};

const PlaneConvLoops& BestPlaneConvLoops();

}  // namespace belay::ops
