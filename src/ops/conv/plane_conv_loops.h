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
  static constexpr int64_t kMost = 5;
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

// Rows of n elements each, read and written so far from each other.
struct PlaneLines {
  int64_t rows, n, from_pitch, to_pitch;
};

struct PlaneConvLoops {
  int64_t lanes;
  // to[i] = bias + the sum of weights[k] * from[offsets[k] + i]
  void (*taps)(float* to, const PlaneTaps& taps, int64_t n);
  // The same of `count` (2 to 4) filters for each row, whose weights lie side by side for each tap. Each
  // filter has an `added` of its own, and its sums `apart` from those of the one before it. Nothing is
  // written behind the n-th of a row.
  void (*filters)(float* to, int64_t apart, const PlaneTaps& taps, int64_t count, const float* added,
                  const PlaneLines& lines);
  // Sums of one filter for four rows; what is read is used for all of them. Nothing behind the n-th element
  // of a row is written. False: n elements do not fill a vector.
  bool (*four_rows)(float* to, const PlaneLines& lines, const PlaneTaps& taps, const PlaneColumn* columns,
                    int64_t count);
  void (*deal)(const PlaneRows& rows);
  // Back from the blocks into rows.
  void (*weave)(const PlaneBlocks& blocks);
  // The elements of rows that lie `step` apart become rows.
  void (*pick)(float* to, const float* from, int64_t step, const PlaneLines& rows);
  // row[i] + added, clipped as above
  void (*finish)(float* row, int64_t n, float added, float low, float high);
};

const PlaneConvLoops& BestPlaneConvLoops();

}  // namespace belay::ops
