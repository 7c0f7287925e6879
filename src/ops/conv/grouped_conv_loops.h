// The inner loops of grouped_conv.cc.
#pragma once

#include <cstdint>

namespace belay::ops {

// A row of pixels of the result, of the channels of one panel: `vectors` vectors of them.
struct GroupedRow {
  // Pixels are summed up so many at a time; what is read has room for whole times.
  static constexpr int64_t kTogether = 8;

  const float* from;         // what the first tap of the first pixel sees
  int64_t from_step;         // floats to the next pixel
  const int64_t* taps;       // floats from `from` to what each tap sees
  int64_t tap_count, depth;  // `depth` input channels for each tap
  const float* weights;      // [tap][depth][lanes of the panel]
  const float* bias;         // of the panel's channels; may be null
  float* to;
  int64_t to_step, pixels, channels;
  bool add;  // to what is there
};

// Channels of a group in the input and in the result, and how many groups share a vector: what is in the
// lanes behind them does not matter.
struct SpreadOfGroups {
  int64_t depth, width, groups;
};

struct GroupedConvLoops {
  int64_t lanes;
  // Each channel of the input is one number for all lanes.
  void (*row)(const GroupedRow& row, int64_t vectors);
  // ... or a vector: panels of one vector that hold several groups.
  void (*spread_row)(const GroupedRow& row);
  // Pixels of `depth` floats, `step` apart, one after the other.
  void (*gather)(const float* from, int64_t step, int64_t depth, int64_t pixels, float* to);
  // ... as vectors for spread_row: element i of the group that a lane belongs to.
  void (*spread)(const float* from, int64_t step, const SpreadOfGroups& groups, int64_t pixels, float* to);
};

// For this processor.
const GroupedConvLoops& BestGroupedConvLoops();

}  // namespace belay::ops
