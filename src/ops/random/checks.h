// What functions that draw ask of their arguments. All throw Error 161002.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

void CheckProbability(double prob);
// That the type holds the number, or one less than 1 away from it where it holds whole numbers only.
void CheckHolds(DType type, const char* name, double value);
// An element of INT64 or UINT64.
void CheckSeed(const Operand& seed);

}  // namespace belay::ops
