// The arithmetic of weighted sums along one dimension, of packed floats.
#pragma once

#include <cstdint>

namespace belay::ops {

struct ResampleLoops {
  // out[i] = the sum over k of weights[k] * from[index[k] * n + i], from the first tap on.
  void (*weigh_rows)(float* out, const float* from, const int64_t* index, const float* weights, int64_t taps,
                     int64_t n);
  // out[i] = the sum over k of weights[k * n + i] * row[index[k * n + i]], of at most kMostPicked taps.
  void (*pick)(float* out, const float* row, const int32_t* index, const float* weights, int64_t taps,
               int64_t n);
};

constexpr int64_t kMostPicked = 4;

const ResampleLoops& BestResampleLoops();

}  // namespace belay::ops
