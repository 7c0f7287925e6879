// Dropping elements at random, as training does.
#pragma once

#include <optional>

#include "ops/schema.h"

namespace belay::ops {

// mask: what is kept; out = self scaled by 1 / (1 - ratio) where it is kept, 0 elsewhere. The same seed drops
// the same elements each time; without one they differ. Packed tensors of a float type, mask bool.
void PlanDropout(Plan& plan, const Operand& self, double ratio, std::optional<uint32_t> seed,
                 const Operand& out, const Operand& mask);

}  // namespace belay::ops
