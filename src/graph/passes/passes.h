// Rewriting a specialised graph so that it runs faster and computes the same.
#pragma once

#include "graph/ir.h"

namespace belay::graph {

// All passes, in their order.
void Optimise(Graph& graph);

}  // namespace belay::graph
