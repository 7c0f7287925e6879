// Elements that are scattered along the first axis by indices that repeat along the rows are whole rows: how
// graph networks write the sum, or the largest, of what their edges bring.
#include "graph/passes/editor.h"
#include "graph/passes/passes.h"

namespace belay::graph {
namespace {

// The operator that does the same to rows; null: there is none.
const char* OfRows(const Node& node) {
  const auto* reduction = FindAttribute<std::string>(node, "reduction");
  const std::string how = reduction == nullptr ? "none" : *reduction;
  return how == "none"  ? "TensorScatterUpdate"
         : how == "add" ? "TensorScatterAdd"
         : how == "max" ? "TensorScatterMax"
         : how == "min" ? "TensorScatterMin"
                        : nullptr;
}

bool AlongTheFirst(const Node& node) {
  const auto* axis = FindAttribute<int64_t>(node, "axis");
  return axis == nullptr || *axis == 0 || *axis == -2;
}

// The indices as one column, where that is what is expanded.
Port ColumnBehind(const Editor& edit, const Graph& graph, const Port& indices) {
  const Node& node = graph.nodes[static_cast<size_t>(indices.node)];
  if ((node.type != "Expand" && node.type != "BroadcastTo") || node.inputs.empty()) return {};
  const ValueType &column = edit.TypeOf(node.inputs[0]), &all = edit.TypeOf(indices);
  const bool fits = column.concrete() && column.shape.rank() == 2 && column.shape[1] == 1 &&
                    column.shape[0] == all.shape[0] && column.dtype == all.dtype;
  return fits ? node.inputs[0] : Port{};
}

}  // namespace

void FindRows(Graph& graph) {
  Editor edit(graph);
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    const Node& node = edit.at(n);
    if (node.type != "ScatterElements" || node.inputs.size() != 3 || !AlongTheFirst(node)) continue;
    const std::vector<Port> inputs = node.inputs;
    const ValueType &data = edit.TypeOf(inputs[0]), &indices = edit.TypeOf(inputs[1]),
                    &updates = edit.TypeOf(inputs[2]);
    if (!data.concrete() || !indices.concrete() || !updates.concrete() || data.shape.rank() != 2 ||
        indices.shape != updates.shape || data.shape[1] != updates.shape[1])
      continue;
    const char* type = OfRows(node);
    const Port column = ColumnBehind(edit, graph, inputs[1]);
    if (type != nullptr && column.present())
      static_cast<void>(edit.Rewrite(n, type, {inputs[0], column, inputs[2]}, {}));
  }
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
