// What operators ask of their arguments.
#pragma once

#include <cstdint>

#include "ops/schema.h"

namespace belay::ops {

// Throw Error 161002.
void CheckShape(const Operand& out, const Shape& wanted);
void CheckSameType(const Operand& self, const Operand& out);
// Of a type that one can compute with: no complex numbers, nothing smaller than a byte.
void CheckNumeric(const Operand& operand);
// As many numbers as there must be.
void CheckLength(const char* name, int64_t seen, int64_t wanted);
// One element, in whatever shape. `place`: the operand's in its list.
void CheckOne(const Operand& operand, int64_t place = -1);
// So many elements, where the operand is there.
void CheckElements(const Operand& operand, int64_t wanted);

}  // namespace belay::ops
