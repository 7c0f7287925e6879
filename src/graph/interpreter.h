// Running a graph node by node on values in ordinary memory: how constants are folded, and how graphs
// run whose shapes only the data decides (and their loops and branches).
#pragma once

#include <span>
#include <vector>

#include "graph/ir.h"

namespace belay::graph {

// The outputs of one node for these inputs (null: an absent optional input).
std::vector<Constant> EvaluateNode(const Node& node, std::span<const Constant> inputs);

// The outputs of a graph whose nodes are sorted. Throws Error that names the node.
std::vector<Constant> Evaluate(const Graph& graph, std::span<const Constant> inputs);

}  // namespace belay::graph
