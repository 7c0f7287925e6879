// Convolutions of planes as they lie whose taps see each pixel once at most, without padding: products of the
// weights and the pixels.
#pragma once

#include "ops/conv/conv.h"

namespace belay::ops {

// Whether turning planes and back would take a good part of the time of the product.
bool PaysAsPlanes(int64_t in_channels, int64_t out_channels, int64_t pixels);

// The same of what several taps see, `depth` elements for each pixel, which is brought together before.
bool PaysAsPatches(int64_t depth, int64_t filters, int64_t pixels);

// Whether they are of BFLOAT16 and fill vectors: products of these are twice as fast, and turning pays.
bool HalvesFillVectors(const ConvArgs& args, const ConvGeometry& geometry);

// Images whose channels come first, FLOAT or rounded to less, with at most a clip behind. Others are turned.
bool IsPlaneProduct(const ConvArgs& args, const ConvGeometry& geometry);

void PlanPlaneProduct(Plan& plan, const ConvArgs& args, const ConvGeometry& geometry);

}  // namespace belay::ops
