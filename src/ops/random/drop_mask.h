// Masks of what dropout keeps: a bit for each element (bit i % 8 of byte i / 8), or a byte.
#pragma once

#include "ops/random/random.h"

namespace belay::ops {

enum class MaskUnit : uint8_t { kBit, kByte };

// Fills the packed u8 tensor `mask`; an element is kept with probability `keep`.
void PlanDropMask(Plan& plan, MaskUnit unit, const RandomSource& source, double keep, const Operand& mask);

// out = x * factor where the mask keeps it, and 0 elsewhere. x and out are packed and of one float type.
void PlanApplyMask(Plan& plan, MaskUnit unit, const Operand& x, const Operand& mask, double factor,
                   const Operand& out);

}  // namespace belay::ops
