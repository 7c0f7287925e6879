// The arithmetic of pooling on planes whose rows lie side by side.
#pragma once

#include <cstdint>

namespace belay::ops {

// Rows of n elements that become one, for several results at once: the r-th is made of `count` rows,
// `row_step` apart, from `from` + r * from_pitch on.
template <class T>
struct PlaneLines {
  T* to;
  const T* from;
  int64_t results, to_pitch, from_pitch;
  int64_t count, row_step, n;
  bool more;  // what is in `to` already counts, too
};

// Windows that follow each other in a row, of several rows: the i-th has `taps` elements, `step` apart, from
// i * stride.
struct PlaneWindows {
  // How many elements behind the last one that a window sees may be read.
  static constexpr int64_t kSlack = 64;

  int64_t count, stride, taps, step;
  int64_t rows, to_pitch, from_pitch;
};

template <class T>
struct PlaneLoops {
  int64_t lanes;  // of a vector

  using Lines = bool(const PlaneLines<T>& lines);
  // `factors`, a row of them: what the sums are multiplied by.
  using Along = void(T* to, const T* from, const T* factors, const PlaneWindows& windows);

  Lines *max_lines, *add_lines;
  Along *max_along, *add_along;
  // Without a look at each for a NaN. False where one, or an infinity, was met: then what was written is
  // worth nothing, and the windows along it are not for numbers either.
  Lines* max_lines_of_numbers;
  Along* max_along_of_numbers;
};

const PlaneLoops<float>& BestPlaneLoopsF32();
const PlaneLoops<double>& BestPlaneLoopsF64();

}  // namespace belay::ops
