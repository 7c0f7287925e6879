// A choice between two sides of which whole rows have one condition.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// Makes a plan and returns true where the rows are long, and nothing is converted; otherwise the plan stays
// as it was.
bool PlanChosenRows(Plan& plan, const Operand& condition, const Operand& self, const Operand& other,
                    const Operand& out);

}  // namespace belay::ops
