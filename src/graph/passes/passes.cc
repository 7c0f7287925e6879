#include "graph/passes/passes.h"

namespace belay::graph {

void Optimise(Graph& graph) {
  RemoveCopies(graph);
  FindActivations(graph);
  FindLayerNorms(graph);
  FindRows(graph);
  FuseAttention(graph);
  FuseConvolutions(graph);
  FindDense(graph);
  FuseProducts(graph);
  ChooseLayouts(graph);
  FusePointwise(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
