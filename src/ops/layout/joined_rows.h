// Packed tensors side by side along an inner dimension, moved in one pass: row after row, a piece of each.
#pragma once

#include <span>

#include "ops/schema.h"

namespace belay::ops {

// Dimensions before `axis` are rows. False: there are too few rows, or types or layouts differ; copies of
// whole tensors do that as well.
bool PlanJoinedRows(Plan& plan, std::span<const Operand> pieces, int axis, const Operand& out);

// The same the other way round: `self` taken apart.
bool PlanPartedRows(Plan& plan, const Operand& self, int axis, std::span<const Operand> pieces);

}  // namespace belay::ops
