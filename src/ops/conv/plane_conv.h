// Convolutions of planes as they lie, plain and transposed: those of one filter a channel (depthwise), and
// those of few channels.
#pragma once

#include "ops/conv/conv.h"

namespace belay::ops {

// Planes whose channels come first, FLOAT or rounded to less, with at most a clip behind. Others are turned.
bool IsPlaneConv(const ConvArgs& args, const ConvGeometry& geometry);

// What a place of the result sees of a group: so many channels through so many taps, for each of so many
// filters. `places`: of a plane, each remainder of a transposed one for itself.
struct SeenByAPlace {
  int64_t groups, channels, taps, filters, places;
  bool transposed;
};
// Whether other convolutions are such, too: turning would cost more than it helps.
bool FewAreSeen(const SeenByAPlace& seen);

void PlanPlaneConv(Plan& plan, const ConvArgs& args, const ConvGeometry& geometry);

}  // namespace belay::ops
