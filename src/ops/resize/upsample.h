// Where what resizing makes of a tensor comes from: for the functions and for their gradients.
#pragma once

#include <span>
#include <vector>

#include "ops/layout/rearranged.h"
#include "ops/resize/taps.h"

namespace belay::ops {

// For each dimension of shapes [n, c, sizes...]; a scale above 0 stands for the ratio of the sizes. `exact`:
// the nearest of the centres, not of the edges before them.
std::vector<AxisMap> NearestMaps(const Shape& in, const Shape& out, std::span<const double> scales,
                                 bool exact);
std::vector<AxisTaps> SmoothTaps(const Shape& in, const Shape& out, bool align,
                                 std::span<const double> scales, const Filter& filter);
// That of torch: nothing from beyond the edges, and a cubic of its own.
inline Filter AntialiasFilter(bool cubic) {
  return {.cubic = cubic, .antialias = true, .exclude_outside = true, .coefficient = -0.5};
}

}  // namespace belay::ops
