// Convolutions whose sums have very many terms.
#pragma once

#include "ops/conv/conv_backend.h"

namespace belay::ops {

// In FLOAT and not transposed; with weights as the plain loops have them.
const ConvBackend& DeepConv();

bool RunDeep(const ConvSpec& spec, const ConvCall& call);
int64_t DeepScratchFloats(const ConvSpec& spec);

}  // namespace belay::ops
