// A scale of INT8 for data, searched for.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

struct BestScaleArgs {
  // One element each but for data and counts: how many of the data lie in the bins from least to most up to
  // each.
  Operand data, least, most, counts, scale, offset;
  double low_share, high_share;  // of the data that the range holds
  double first, end, step;       // multiples of the range that are tried
  bool with_offset;
};
// That with which rounded data are nearest to what they were, by the sum of the squares.
void PlanBestScale(Plan& plan, const BestScaleArgs& args);

}  // namespace belay::ops
