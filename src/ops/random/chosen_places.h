// Places of what is true, drawn.
#pragma once

#include <memory>

#include "ops/random/random.h"
#include "ops/schema.h"

namespace belay::ops {

// places [count, rank of x]: of count different elements that are not 0, in x's order, each as likely as the
// others; mask [count]: 1, and 0 where there are no more.
void PlanChosenPlaces(Plan& plan, const Operand& x, std::shared_ptr<RandomSequence> sequence,
                      const Operand& places, const Operand& mask);

}  // namespace belay::ops
