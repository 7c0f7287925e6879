// Operators that give what they are given: casts to the type that is there already, and their kin.
#include <algorithm>
#include <iterator>

#include "graph/passes/editor.h"
#include "graph/passes/passes.h"

namespace belay::graph {
namespace {

bool MayCopy(const std::string& type) {
  constexpr const char* kTypes[] = {"Cast", "Identity", "Expand", "BroadcastTo", "Reshape"};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

bool SameValue(const ValueType& a, const ValueType& b) {
  return a.concrete() && b.concrete() && a.dtype == b.dtype && a.shape == b.shape;
}

}  // namespace

void RemoveCopies(Graph& graph) {
  Editor edit(graph);
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    const Node& node = edit.at(n);
    if (!MayCopy(node.type) || node.outputs != 1 || node.inputs.empty()) continue;
    const Port from = node.inputs[0];
    if (SameValue(edit.TypeOf(from), node.types[0])) edit.Replace({n, 0}, from);
  }
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
