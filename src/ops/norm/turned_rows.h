// Normalising many short rows at once: sixteen lie side by side, so that each has a lane of the vectors.
#pragma once

#include <cstdint>

#include "ops/norm/norm_loops.h"

namespace belay::ops {

inline constexpr int64_t kRowsTurned = 16;
inline constexpr int64_t kMostTurned = 64;  // elements of a row

// Both may be null. They have an element for each of a row's, or, `by_row`, for each of the rows.
struct RowWeights {
  const float *weight, *bias;
  bool by_row;
};

// kRowsTurned packed rows of n <= kMostTurned elements. `found` may be null.
using TurnedRows = void (*)(float* y, const float* x, const RowWeights& weights, int64_t n,
                            const RowRule& rule, RowMoments* found);
TurnedRows BestTurnedRows();

}  // namespace belay::ops
