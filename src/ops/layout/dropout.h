// Dropping elements at random, as training does.
#pragma once

#include <memory>

#include "ops/random/random.h"

namespace belay::ops {

// mask: what is kept; out = self scaled by 1 / (1 - ratio) where it is kept, 0 elsewhere. Packed tensors of a
// float type, mask bool.
void PlanDropout(Plan& plan, const Operand& self, double ratio, std::shared_ptr<RandomSequence> sequence,
                 const Operand& out, const Operand& mask);

}  // namespace belay::ops
