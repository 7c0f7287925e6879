#include "graph/passes/editor.h"

namespace belay::graph {

Editor::Editor(Graph& graph) : graph_(graph) { Count(); }

void Editor::Count() {
  uses_.assign(graph_.nodes.size(), {});
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    for (const Port& port : graph_.nodes[n].inputs) {
      if (port.present()) uses_[static_cast<size_t>(port.node)].push_back({port, static_cast<int>(n)});
    }
  }
  for (const GraphOutput& output : graph_.outputs) uses_[static_cast<size_t>(output.port.node)].push_back({output.port, -1});
}

const ValueType& Editor::TypeOf(const Port& port) const {
  return graph_.nodes[static_cast<size_t>(port.node)].types[static_cast<size_t>(port.output)];
}

Constant Editor::ConstantAt(const Port& port) const {
  return port.present() ? ConstantOf(graph_.nodes[static_cast<size_t>(port.node)]) : nullptr;
}

int Editor::OnlyUser(const Port& port) const {
  int user = -1, count = 0;
  for (const Use& use : uses_[static_cast<size_t>(port.node)]) {
    if (use.port != port) continue;
    user = use.user;
    ++count;
  }
  return count == 1 ? user : -1;
}

void Editor::Replace(const Port& old, const Port& now) {
  for (Node& node : graph_.nodes) {
    for (Port& port : node.inputs) {
      if (port == old) port = now;
    }
  }
  for (GraphOutput& output : graph_.outputs) {
    if (output.port == old) output.port = now;
  }
  Count();
  if (!uses_[static_cast<size_t>(old.node)].empty()) return;
  at(old.node).inputs.clear();  // it is dead: what it read has one user less
  Count();
}

void Editor::Rewrite(int node, std::string type, std::vector<Port> inputs, Attributes attributes) {
  Node& changed = at(node);
  changed.type = std::move(type);
  changed.inputs = std::move(inputs);
  changed.attributes = std::move(attributes);
  Count();
}

Port Editor::AddConstant(const std::string& name, Constant value) {
  Port port = graph_.AddConstant(name, std::move(value));
  uses_.emplace_back();
  return port;
}

}  // namespace belay::graph
