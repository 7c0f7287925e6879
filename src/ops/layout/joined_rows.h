// Packed tensors side by side along an inner dimension, written in one pass: row after row, a piece of each.
#pragma once

#include <span>

#include "ops/schema.h"

namespace belay::ops {

// Dimensions before `axis` are rows. False: there are too few rows, or types or layouts differ; copies of
// whole tensors do that as well.
bool PlanJoinedRows(Plan& plan, std::span<const Operand> pieces, int axis, const Operand& out);

}  // namespace belay::ops
