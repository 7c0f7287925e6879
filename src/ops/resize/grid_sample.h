// Reading images at places that a grid names, and grids of an affine map.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

enum class SampleMode : uint8_t { kLinear, kNearest, kCubic };
enum class SamplePadding : uint8_t { kZeros, kBorder, kReflection };

// self [n, c, sizes...], grid [n, places..., k] with coordinates from -1 to 1, the last dimension's first;
// out [n, c, places...].
void PlanGridSample(Plan& plan, const Operand& self, const Operand& grid, SampleMode mode,
                    SamplePadding padding, bool align_corners, const Operand& out);

// theta [n, k, k + 1], out [n, sizes..., k].
void PlanAffineGrid(Plan& plan, const Operand& theta, bool align_corners, const Operand& out);

}  // namespace belay::ops
