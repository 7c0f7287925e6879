// The arithmetic of pooling on planes that are turned, so that the elements of one place lie side by side.
#pragma once

#include <cstdint>

#include "ops/layout/float_square.h"

namespace belay::ops {

inline constexpr int64_t kPlanesTurned = kFloatSquare;  // each has a lane

// What a window sees along three dimensions: how many, how far apart, and what that adds to a place.
struct TurnedWindow {
  int64_t count[3], step[3];
  int32_t place_step[3];
};

// Results made of `count` pieces of n elements each, `step` apart; n is a multiple of kPlanesTurned.
struct TurnedFold {
  float* to;
  const float* from;
  int64_t results, to_step, from_step, count, step, n;
  const float* divisors;  // one for each result; may be null
};

struct TurnedLoops {
  using Fold = void(const TurnedFold& fold);

  // The last does not look for NaN.
  Fold *add, *max, *max_of_numbers;
  // Whether n elements are numbers, of which none is infinite. n is a multiple of kPlanesTurned.
  bool (*are_numbers)(const float* x, int64_t n);
  // Of kPlanesTurned windows, whose first elements lie at `from` and have the place `place`.
  void (*max_with_places)(float* most, int32_t* places, const float* from, int32_t place,
                          const TurnedWindow& window);
};

const TurnedLoops& BestTurnedLoops();

}  // namespace belay::ops
