// Convolutions of one filter a channel (depthwise), plain and transposed, of planes as they lie.
#pragma once

#include "ops/conv/conv.h"

namespace belay::ops {

// Images whose channels come first, FLOAT or rounded to less, with at most a clip behind. Others are turned.
bool IsPlaneConv(const ConvArgs& args, const ConvGeometry& geometry);

void PlanPlaneConv(Plan& plan, const ConvArgs& args, const ConvGeometry& geometry);

}  // namespace belay::ops
