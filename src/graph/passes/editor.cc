#include "graph/passes/editor.h"

#include <algorithm>
#include <utility>

#include "graph/operator_list.h"

namespace belay::graph {

Editor::Editor(Graph& graph) : graph_(graph), uses_(graph.nodes.size()) {
  for (size_t n = 0; n < graph_.nodes.size(); ++n) Enlist(static_cast<int>(n));
  for (const GraphOutput& output : graph_.outputs) UsesOf(output.port).push_back({output.port, kOutside});
}

// The node is a user of what it reads.
void Editor::Enlist(int user) {
  for (const Port& port : at(user).inputs) {
    if (port.present()) UsesOf(port).push_back({port, user});
  }
}

// It is one no more.
void Editor::Strike(int user) {
  for (const Port& port : at(user).inputs) {
    if (port.present()) std::erase_if(UsesOf(port), [&](const Use& use) { return use.user == user; });
  }
}

const ValueType& Editor::TypeOf(const Port& port) const {
  return graph_.nodes[static_cast<size_t>(port.node)].types[static_cast<size_t>(port.output)];
}

Constant Editor::ConstantAt(const Port& port) const {
  return port.present() ? ConstantOf(graph_.nodes[static_cast<size_t>(port.node)]) : nullptr;
}

std::optional<double> Editor::NumberAt(const Port& port) const {
  Constant constant = ConstantAt(port);
  if (constant == nullptr || constant->count() != 1) return {};
  return constant->Reals()[0];
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

void Editor::Replace(Port old, Port now) {
  for (const Use& use : std::exchange(UsesOf(old), {})) {
    if (use.port != old) {
      UsesOf(old).push_back(use);  // of another output
      continue;
    }
    UsesOf(now).push_back({now, use.user});
    if (use.user != kOutside) {
      std::replace(at(use.user).inputs.begin(), at(use.user).inputs.end(), old, now);
      continue;
    }
    for (GraphOutput& output : graph_.outputs) {
      if (output.port == old) output.port = now;
    }
  }
  if (!UsesOf(old).empty()) return;
  Strike(old.node);  // it is dead: what it read has one user less
  at(old.node).inputs.clear();
}

void Editor::Rewrite(int node, std::string type, std::vector<Port> inputs, Attributes attributes) {
  Strike(node);
  Node& changed = at(node);
  if (const bool* keeps = FindAttribute<bool>(changed, kKeepType)) attributes[kKeepType] = *keeps;
  changed.type = std::move(type);
  changed.inputs = std::move(inputs);
  changed.attributes = std::move(attributes);
  Enlist(node);
}

Port Editor::AddNode(const std::string& name, std::string type, std::vector<Port> inputs,
                     const ValueType& output) {
  Node node{.name = name, .type = std::move(type), .inputs = std::move(inputs), .types = {output}};
  const Port port{graph_.Add(std::move(node))};
  uses_.emplace_back();
  Enlist(port.node);
  return port;
}

Port Editor::AddConstant(const std::string& name, Constant value) {
  Port port = graph_.AddConstant(name, std::move(value));
  uses_.emplace_back();
  return port;
}

}  // namespace belay::graph
