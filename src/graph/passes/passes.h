// Rewriting a specialised graph so that it runs faster and computes the same.
#pragma once

#include "graph/ir.h"

namespace belay::graph {

// All passes, in their order.
void Optimise(Graph& graph);

// x * (1 + erf(x / sqrt(2))) / 2, as exporters write it, becomes one Gelu.
void FindGelus(Graph& graph);
void FuseConvolutions(Graph& graph);
// Products with constant matrices take over a bias, a residual and an activation.
void FuseProducts(Graph& graph);
// Keeps images with their channels last between the operators that work better so.
void ChooseLayouts(Graph& graph);

}  // namespace belay::graph
