// Mixed precision: large products round what they multiply to bf16 and add up in f32. Values between
// operators stay f32, so that nothing else loses precision.
#include "graph/operator_list.h"
#include "graph/passes/passes.h"

namespace belay::graph {
namespace {

// Below this the rounding costs what the products save.
constexpr int64_t kFewestProducts = 1 << 20;

const ValueType& DescribedType(const Graph& graph, const Port& port) {
  return graph.nodes[static_cast<size_t>(port.node)].types[static_cast<size_t>(port.output)];
}

// One product for each element of the result and of a filter's part that makes it.
int64_t Products(const Graph& graph, const Node& node) {
  const ValueType& weight = DescribedType(graph, node.inputs[1]);
  const ValueType& result = node.types[0];
  if (!weight.concrete() || !result.concrete() || result.dtype != DType::kF32) return 0;
  if (node.type == "FusedMatMul") {
    const int64_t depth = DescribedType(graph, node.inputs[0]).shape.back(0);
    return CountOf(result.shape) == result.shape.back(0)
               ? 0
               : CountOf(result.shape) * depth;  // one row: memory is the limit
  }
  // [out, in / groups, kernel...]; a channel of its own for each result is bound by memory too.
  if (weight.shape.rank() < 3 || weight.shape[1] == 1) return 0;
  return CountOf(result.shape) * (CountOf(weight.shape) / weight.shape[0]);
}

}  // namespace

void ComputeInBfloat16(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (node.type != "FusedConv2D" && node.type != "FusedMatMul") continue;
    if (FindAttribute<bool>(node, kKeepType) != nullptr || node.attributes.count("compute") != 0) continue;
    if (Products(graph, node) >= kFewestProducts) node.attributes["compute"] = std::string("bf16");
  }
}

}  // namespace belay::graph
