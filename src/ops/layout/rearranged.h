// Results whose elements come from a place that each dimension chooses on its own: slices with any
// step, padding of every kind, tiles, rolls, flips, nearest neighbours.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/schema.h"

namespace belay::ops {

// For each index of the result, the index in the source.
using AxisMap = std::vector<int64_t>;
inline constexpr int64_t kNoSource = -1;  // there is none: the element gets the fill value

enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };

// Maps and their like are as long as what they describe. Throws Error when one of so many elements would take
// too much of this machine's memory.
void CheckMapLength(double elements);

AxisMap IdentityMap(int64_t size);
AxisMap SteppedMap(int64_t start, int64_t step, int64_t count);
// `times` copies, one behind the other.
AxisMap TiledMap(int64_t size, int64_t times);
// Negative paddings cut off. Throws Error when there is nothing to reflect, repeat or wrap.
AxisMap PaddedMap(int64_t size, int64_t before, int64_t after, PadMode mode);

// out[i, j, ...] = self[maps[0][i], maps[1][j], ...]. One map a dimension, each as long as out's size.
// `fill` holds one element of out's type; null: zero. out has the type of self.
void PlanRearranged(Plan& plan, const Operand& self, const Operand& out, const std::vector<AxisMap>& maps,
                    const void* fill);

}  // namespace belay::ops
