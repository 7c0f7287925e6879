// What rotary position embeddings and their gradients share.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/schema.h"

namespace belay::ops {

// turned[i] = sign * x[from]; base: the place of x that stays at i.
struct RotaryTurn {
  int64_t base, from;
  float sign;
};

// Those of a row of x, whose places they turn. Throws Error 161002 where mode or shapes do not fit.
std::vector<RotaryTurn> CheckedTurns(const Operand& x, const Operand& cos, const Operand& sin, int64_t mode);

}  // namespace belay::ops
