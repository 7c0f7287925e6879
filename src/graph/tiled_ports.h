// Arguments of single operators in the tiles of a card, ACL_FORMAT_FRACTAL_NZ: what lies so is brought into
// the order of its dimensions before the operator, and results into tiles behind it.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir.h"

namespace belay::graph {

// Whether elements of `shape` may lie in a storage of these dimensions; a row is a matrix of one column.
bool TilesFit(const std::vector<int64_t>& tiles, const Shape& shape);

Port OutOfTiles(Graph& graph, Port stored, const std::vector<int64_t>& tiles, const Shape& shape);
Port IntoTiles(Graph& graph, Port value, const std::vector<int64_t>& tiles, const Shape& shape);

}  // namespace belay::graph
