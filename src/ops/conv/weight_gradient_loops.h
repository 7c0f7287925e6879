// The inner loops of weight_gradient.cc. Pixels and positions lie as panels: so many channels of one after
// the other.
#pragma once

#include <cstdint>

namespace belay::ops {

// Positions next to each other, and the pixels that a tap sees from them.
struct TapRow {
  int64_t pixel, position;  // the first ones, counted in panels
  int64_t count;
};

struct TapRows {
  const TapRow* rows;
  int64_t count;
  int64_t step;  // pixels from one position to the next
  bool first;    // what they add to holds nothing yet
};

// Sums of all products of a channel of the gradient and one of the input are taken kGradientRows times a
// panel at once; sums of lanes, which are pairs of channels, kGradientLanes at once.
constexpr int64_t kGradientRows = 8, kGradientPanel = 32, kGradientLanes = 16;

struct WeightGradientLoops {
  // sums[r][c] += grad[position][r] * pixels[pixel][c], where `panel`, kGradientPanel or kGradientLanes, says
  // how many c there are.
  void (*add_outer)(const TapRows& seen, const float* pixels, const float* grad, int64_t panel, double* sums);
  // sums[t][lane] += grad[position][lane] * pixels[pixel + taps[t]][lane], or, where a pixel is one number
  // (`panel` 1), times this.
  void (*add_lanes)(const TapRows& seen, const float* pixels, int64_t panel, const float* grad,
                    const int64_t* taps, int64_t count, double* sums);
  bool (*all_finite)(const float* values, int64_t count);  // a multiple of kGradientLanes
  // Each number of BFLOAT16 becomes a pair, of it and of that which is `step` elements behind it.
  void (*pair_up)(float* values, int64_t count, int64_t step);
  // The same where the numbers are halves of floats, which lie in the second half of the room for the pairs.
  void (*pair_halves)(float* values, int64_t count, int64_t step);
  bool by_pairs = false;  // how add_outer wants both of its factors
};

// For this processor; `bf16`: all factors are numbers of BFLOAT16.
WeightGradientLoops BestWeightGradientLoops(bool bf16);
// Takes those that multiply BFLOAT16, where the processor can.
void TakePairs(WeightGradientLoops& loops);

}  // namespace belay::ops
