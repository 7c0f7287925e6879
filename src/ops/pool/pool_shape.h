// What both ways to pool know: the sizes, and what each position sees.
#pragma once

#include "ops/pipeline.h"
#include "ops/pool/pool.h"

namespace belay::ops {

// One and two spatial dimensions are three whose first are 1.
struct PoolShape {
  PoolKind kind;
  int64_t batch, channels, in[3], out[3];
  PoolSpans spans[3];
  bool count_padding, places_in_plane, column_major;
  int64_t divisor;
  double norm;
};

// Whether elements are pooled as FLOAT, which holds the small integers exactly.
inline bool PoolsAsFloats(DType type) {
  const bool small = type == DType::kI8 || type == DType::kU8 || type == DType::kI16 || type == DType::kU16;
  return small || ComputeType(type) == DType::kF32;
}

// By planes, as they lie in [n, c, spatial...]: for each row of the result the rows that its windows see
// become one, along which the windows slide then. False where that does not pay or cannot be, and nothing is
// planned.
bool PlanPlanePool(Plan& plan, const PoolArgs& args, const PoolShape& shape);

// The same of planes that are turned so that they lie side by side, with places, too: of short rows.
bool PlanTurnedPool(Plan& plan, const PoolArgs& args, const PoolShape& shape);

}  // namespace belay::ops
