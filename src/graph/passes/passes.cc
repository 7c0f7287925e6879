#include "graph/passes/passes.h"

namespace belay::graph {

void Optimise(Graph& graph) {
  FuseConvolutions(graph);
  ChooseLayouts(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
