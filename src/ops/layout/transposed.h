// Copies whose result runs along one dimension of memory while the source runs along another. Tile by
// tile, so that both sides use each cache line while it is near.
#pragma once

#include <cstdint>

#include "ops/schema.h"

namespace belay::ops {

// A copy of `src` over `out`, which has the same shape and type. Makes a plan and returns true when it
// is such a copy and large enough; otherwise the plan stays as it was.
bool PlanTransposed(Plan& plan, const Operand& src, const Operand& out);

}  // namespace belay::ops
