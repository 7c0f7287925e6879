// Random numbers, as plans.
#pragma once

#include <cstdint>
#include <optional>

#include "ops/schema.h"

namespace belay::ops {

enum class Distribution : uint8_t { kUniform, kNormal };  // in [0, 1); with mean 0 and deviation 1

// A plan goes on in its sequence from run to run; plans with the same seed have the same sequence. `out` is
// packed.
void PlanRandom(Plan& plan, Distribution distribution, std::optional<uint64_t> seed, const Operand& out);

// Draws classes for each row of logits [rows, classes] (f32, logarithms up to a constant): out [rows, n] of
// i64.
void PlanMultinomial(Plan& plan, const Operand& logits, std::optional<uint64_t> seed, const Operand& out);

}  // namespace belay::ops
