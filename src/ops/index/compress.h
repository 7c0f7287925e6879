// What lies at places of a dimension whose condition holds.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// x and out are packed but for the dimension, as it is and with the places that are kept: as many as
// `condition` holds, whose elements are truth values. It may have fewer places than the dimension, or more,
// which name none.
void PlanCompress(Plan& plan, const Operand& x, int axis, const Operand& condition, const Operand& out);

// How many places a condition keeps of so many.
int64_t PlacesKept(const uint8_t* condition, int64_t count, int64_t size);

}  // namespace belay::ops
