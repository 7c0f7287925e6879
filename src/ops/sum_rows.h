// Sums of parts of rows, each times a weight.
#pragma once

#include <cstdint>

namespace belay::ops {

// A row or a place in it, and what it counts.
struct WeightedPlace {
  int64_t at;
  float weight;
};

// out[i] = the sum over k of places[k].weight * from[places[k].at * pitch + i]
using SumRowsLoop = void (*)(float* out, const float* from, int64_t pitch, const WeightedPlace* places,
                             int64_t count, int64_t n);
SumRowsLoop BestSumRows();

}  // namespace belay::ops
