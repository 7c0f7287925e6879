// What gradients ask of their arguments.
#pragma once

#include <span>

#include "ops/norm/nll.h"
#include "ops/schema.h"

namespace belay::ops {

// The results that a mask asks for: one of them for each element, absent where its element is false. Throws
// Error 161002 when the mask has another length, 161001 when a result that is asked for is null.
void SelectResults(std::span<const uint8_t> mask, std::span<Operand> results);

// A result that an argument of its own asks for; absent unless it does. Throws Error 161001 when it is null
// then.
Operand AskedFor(bool asked, const Operand& result);

// What a program calls 0 (none), 1 (mean) or 2 (sum).
LossReduction LossReductionOf(int64_t reduction);

}  // namespace belay::ops
