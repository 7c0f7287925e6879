// Kernels that compute on packed doubles, for operators that are not worth a loop for each type and layout.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ops/plan.h"
#include "ops/schema.h"

namespace belay::ops {

// `work` gets the operands as packed f64, in row-major order: themselves where they lie so already, else
// copies in the workspace. It does not run where all results are empty.
using DoubleWork = std::function<void(const double* const* in, double* const* out)>;
void PlanDoubles(Plan& plan, const std::vector<const Operand*>& in, const std::vector<const Operand*>& out,
                 uint64_t cost, DoubleWork work);

}  // namespace belay::ops
