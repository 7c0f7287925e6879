// Places of a grid in images of two dimensions, read linearly, in vectors.
#pragma once

#include <cstdint>

namespace belay::ops {

struct GridPlane {
  int64_t height, width;  // together less than 2^31 elements
  bool align, border;     // what lies outside is the edge's; else nothing
};

// What so many places are sums of: four pixels each. Of those outside the weight is -0, and what is read of
// them is not looked at.
struct GridTerms {
  static constexpr int64_t kMost = 64;
  alignas(64) int32_t pixel[4][kMost];
  alignas(64) float weight[4][kMost];
};

struct GridLoops {
  // n <= kMost pairs of x and y
  void (*find)(const float* grid, int64_t n, const GridPlane& plane, GridTerms& terms);
  void (*sum)(const GridTerms& terms, int64_t n, const float* image, float* out);
};

// For this processor.
const GridLoops& BestGridLoops();

}  // namespace belay::ops
