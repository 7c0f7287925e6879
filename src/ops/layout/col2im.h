// Columns of patches added up to images: the reverse of unfolding.
#pragma once

#include <vector>

#include "ops/schema.h"

namespace belay::ops {

struct PatchAxis {
  int64_t image, block, dilation, stride, pad_before, patches;
};

// self: [n, channels * blocks, patches]; out, of the same type: [n, channels, image...], which is added up in
// the order of the patches. f32 and f64, other types by way of f32.
void PlanColumnsToImage(Plan& plan, const Operand& self, const Operand& out,
                        const std::vector<PatchAxis>& axes);

}  // namespace belay::ops
