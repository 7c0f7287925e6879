// Rewriting a specialised graph so that it runs faster and computes the same.
#pragma once

#include "graph/ir.h"

namespace belay::graph {

// All passes, in their order.
void Optimise(Graph& graph);

// Operators between DequantizeLinear and QuantizeLinear become those that compute with bytes. For graphs as
// they were read, before constants are dequantised.
void FindQuantised(Graph& graph);
// Values are read where they come from, not behind operators that copy them.
void RemoveCopies(Graph& graph);
// What exporters write as several operators becomes one: Gelu, HardSwish.
void FindActivations(Graph& graph);
// The same with layer normalisation, and that by the root of the mean square.
void FindLayerNorms(Graph& graph);
// Elements that are scattered row by row are scattered as rows.
void FindRows(Graph& graph);
// Scores, softmax and the product with values become one node, with the transpositions around them.
void FuseAttention(Graph& graph);
void FuseConvolutions(Graph& graph);
// Convolutions by kernels as large as the image become products with a constant matrix.
void FindDense(Graph& graph);
// Products with constant matrices take over a bias, a residual and an activation.
void FuseProducts(Graph& graph);
// Keeps images with their channels last between the operators that work better so.
void ChooseLayouts(Graph& graph);
// Runs of pointwise operators on many elements become one node that goes over memory once.
void FusePointwise(Graph& graph);
// Lets convolutions and products round to bf16 what they multiply, where there is enough of it.
void ComputeInBfloat16(Graph& graph);
// Packs the weights of fused operators as this machine's kernels want them. For graphs that will only run:
// other passes do not look into packed weights.
void PackWeights(Graph& graph);

}  // namespace belay::graph
