// Squares of floats, and of elements of two bytes, turned in vectors.
#pragma once

#include <cstdint>

namespace belay::ops {

// A square has whole lines of the cache on both sides. Each line is read and written once and at once: rows
// of images are often a multiple of a page apart, where few lines can stay in the cache together.
constexpr int64_t kFloatSquare = 16, kHalfSquare = 32;

// to[c][r] = from[r][c]; steps in elements.
using TurnFloatSquare = void (*)(const float* from, int64_t from_step, float* to, int64_t to_step);
TurnFloatSquare BestTurnFloatSquare();
// The same of two bytes each; steps in bytes.
using TurnHalfSquare = void (*)(const char* from, int64_t from_step, char* to, int64_t to_step);
TurnHalfSquare BestTurnHalfSquare();

}  // namespace belay::ops
