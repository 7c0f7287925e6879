// Rewriting a specialised graph so that it runs faster and computes the same.
#pragma once

#include "graph/ir.h"

namespace belay::graph {

// All passes, in their order.
void Optimise(Graph& graph);

void FuseConvolutions(Graph& graph);
// Keeps images with their channels last between the operators that work better so.
void ChooseLayouts(Graph& graph);

}  // namespace belay::graph
