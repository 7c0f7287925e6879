// Weighted sums along one dimension after the other: linear and cubic resizing.
#pragma once

#include <vector>

#include "ops/resize/taps.h"
#include "ops/schema.h"

namespace belay::ops {

// One set of taps a dimension. Elements that look outside become `extrapolation`. Computes in f32, or in f64
// for f64; whole types lose their fractions, as in onnxruntime.
void PlanResample(Plan& plan, const Operand& self, const Operand& out, std::vector<AxisTaps> taps,
                  double extrapolation);

}  // namespace belay::ops
