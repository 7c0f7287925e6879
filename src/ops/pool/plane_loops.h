// The arithmetic of pooling on planes whose rows lie side by side.
#pragma once

#include <cstdint>

namespace belay::ops {

// Windows that follow each other in a row: the i-th has `taps` elements, `step` apart, from i * stride.
struct PlaneWindows {
  // How many elements behind the last one that a window sees may be read.
  static constexpr int64_t kSlack = 64;

  int64_t count, stride, taps, step;
};

template <class T>
struct PlaneLoops {
  // to[i] of `count` rows, `row_step` apart, of n elements; with `more`, of what is in `to` already, too.
  void (*max_rows)(T* to, const T* from, int64_t count, int64_t row_step, int64_t n, bool more);
  void (*add_rows)(T* to, const T* from, int64_t count, int64_t row_step, int64_t n, bool more);
  void (*max_along)(T* to, const T* from, const PlaneWindows& windows);
  void (*add_along)(T* to, const T* from, const PlaneWindows& windows);
  void (*scale)(T* to, const T* factors, int64_t n);
};

const PlaneLoops<float>& BestPlaneLoopsF32();
const PlaneLoops<double>& BestPlaneLoopsF64();

}  // namespace belay::ops
