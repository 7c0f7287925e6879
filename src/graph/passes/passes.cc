#include "graph/passes/passes.h"

namespace belay::graph {

void Optimise(Graph& graph) { RemoveDeadNodes(graph); }

}  // namespace belay::graph
