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

// Taps that lie one row below the other.
struct PlaneColumn {
  static constexpr int64_t kMost = 4;
  int64_t first, count;  // in the lists of taps
};

// Rows whose elements are dealt to `step` blocks: the i-th goes to place (first + i) / step of the row in
// block (first + i) % step.
struct PlaneRows {
  float* to;
  int64_t to_pitch, apart;  // from row to row, and from block to block
  const float* from;
  int64_t from_pitch, count, n;  // n elements each
  int64_t step, first;
};

// The other way round: element i of a row of n is at place i / step of its row in block i % step.
struct PlaneBlocks {
  float* to;
  int64_t to_pitch;
  const float* from;
  int64_t from_pitch, apart;  // from row to row, and from block to block
  int64_t count, n, step;
};

struct PlaneConvLoops {
  static constexpr int64_t kExact = 32;
  // to[i] = bias + the sum of weights[k] * from[offsets[k] + i]
  void (*taps)(float* to, const PlaneTaps& taps, int64_t n);
  // The same of `width` (2 or 4) filters, whose weights lie side by side for each tap. Each has an `added` of
  // its own, and its sums `apart` from those of the one before it. From kExact elements on nothing is written
  // behind the n-th.
  void (*filters)(float* to, int64_t apart, const PlaneTaps& taps, int64_t width, const float* added,
                  int64_t n);
  // Sums of one filter for four rows, `pitch` apart in `from` and `to_pitch` in `to`; what is read is used
  // for all of them. Nothing behind the n-th element of a row is written. False: n elements do not fill two
  // vectors.
  bool (*four_rows)(float* to, int64_t to_pitch, const PlaneTaps& taps, const PlaneColumn* columns,
                    int64_t count, int64_t pitch, int64_t n);
  void (*deal)(const PlaneRows& rows);
  // Back from the blocks into rows.
  void (*weave)(const PlaneBlocks& blocks);
  // row[i] + added, clipped as above
  void (*finish)(float* row, int64_t n, float added, float low, float high);
};

const PlaneConvLoops& BestPlaneConvLoops();

}  // namespace belay::ops
