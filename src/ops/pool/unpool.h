// The reverse of taking the largest: values go back to where they came from.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// out = 0, but x where `places` (i64, packed like x) says: numbers of elements of a tensor of the
// shape `natural`, which is the first corner of out.
void PlanUnpool(Plan& plan, const Operand& x, const Operand& places, const Shape& natural,
                const Operand& out);

// out = 0, but x where `places` says: in each plane, the last `spatial` dimensions of all three, numbers of
// elements of out's plane. Throws Error while it runs when there is no such element.
void PlanUnpoolPlanes(Plan& plan, const Operand& x, const Operand& places, int spatial, const Operand& out);
// The reverse: out = what x has in the places of its plane that `places`, of out's shape, says. Throws as
// above.
void PlanPickPlaces(Plan& plan, const Operand& x, const Operand& places, int spatial, const Operand& out);

}  // namespace belay::ops
