#include "graph/passes/editor.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "graph/operator_list.h"

namespace belay::graph {
namespace {

using Names = std::vector<std::string>;

// The operators of the model that the node computes.
Names OriginsOf(const Node& node) {
  const auto* names = FindAttribute<Names>(node, kOriginsAttribute);
  return names != nullptr ? *names : Names{node.name};
}

bool Same(const ValueType& a, const ValueType& b) {
  return a.concrete() && b.concrete() && a.dtype == b.dtype && a.shape == b.shape;
}

}  // namespace

Editor::Editor(Graph& graph, Types types) : graph_(graph), types_(types), uses_(graph.nodes.size()) {
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

std::vector<KnownInput> Editor::KnownInputs(const std::vector<Port>& inputs) const {
  std::vector<KnownInput> known;
  for (const Port& port : inputs) {
    if (!port.present()) {
      known.push_back({});
      continue;
    }
    const ValueType& type = TypeOf(port);
    Constant value = ConstantAt(port);
    known.push_back({true, type.dtype, type.shape, value, value != nullptr});
  }
  return known;
}

bool Editor::Alike(const Port& a, const Port& b) const {
  return types_ == Types::kLater || Same(TypeOf(a), TypeOf(b));
}

// Whether the node would still give what its users take it for.
bool Editor::KeepsTypes(int node, const std::string& type, const std::vector<Port>& inputs,
                        const Attributes& attributes) const {
  if (types_ == Types::kLater) return true;
  auto is_open = [&](const Port& port) { return port.present() && !TypeOf(port).concrete(); };
  if (std::any_of(inputs.begin(), inputs.end(), is_open)) return false;
  Node changed = graph_.nodes[static_cast<size_t>(node)];
  changed.type = type, changed.inputs = inputs, changed.attributes = attributes;
  try {
    const Translated now = TranslateNode(changed, KnownInputs(inputs), Purpose::kTypes);
    for (int i = 0; i < changed.outputs; ++i) {
      const LocalValue& value = now.values[static_cast<size_t>(now.inputs + i)];
      if (!Same(changed.types[static_cast<size_t>(i)], {value.dtype, Format::kND, true, value.shape}))
        return false;
    }
    return true;
  } catch (const NeedsValue&) {
  } catch (const Error&) {
  }
  return false;
}

bool Editor::Replace(Port old, Port now) {
  if (!Alike(old, now)) return false;
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
  if (!UsesOf(old).empty()) return true;
  Strike(old.node);  // it is dead: what it read has one user less
  at(old.node).inputs.clear();
  NoteOrigins(now.node, {now.node, old.node});
  return true;
}

// The node computes what these did, itself among them, in this order.
void Editor::NoteOrigins(int node, const std::vector<int>& merged) {
  if (merged.size() < 2) return;
  Names names;
  for (int part : merged) {
    Names more = OriginsOf(at(part));
    names.insert(names.end(), more.begin(), more.end());
  }
  at(node).attributes[kOriginsAttribute] = std::move(names);
}

// Of the values that a node does not read any more, and behind them: the operators that nobody else needs.
std::vector<int> Editor::Unneeded(const std::vector<Port>& dropped) {
  std::vector<int> dead, waiting;
  for (const Port& port : dropped) waiting.push_back(port.node);
  while (!waiting.empty()) {
    const int n = waiting.back();
    waiting.pop_back();
    const bool computes = n >= 0 && at(n).type != kDataType && at(n).type != kConstType;
    auto is_dead = [&](int user) { return std::find(dead.begin(), dead.end(), user) != dead.end(); };
    if (!computes || is_dead(n)) continue;
    const auto& uses = uses_[static_cast<size_t>(n)];
    if (!std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return is_dead(use.user); })) continue;
    dead.push_back(n);
    for (const Port& port : at(n).inputs) waiting.push_back(port.node);
  }
  std::sort(dead.begin(), dead.end());
  return dead;
}

bool Editor::Rewrite(int node, const std::string& type, std::vector<Port> inputs, Attributes attributes) {
  if (!KeepsTypes(node, type, inputs, attributes)) return false;
  Strike(node);
  Node& changed = at(node);
  if (const bool* keeps = FindAttribute<bool>(changed, kKeepType)) attributes[kKeepType] = *keeps;
  if (const auto* names = FindAttribute<Names>(changed, kOriginsAttribute))
    attributes[kOriginsAttribute] = *names;
  changed.type = type;
  std::swap(changed.inputs, inputs);
  changed.attributes = std::move(attributes);
  Enlist(node);
  std::vector<int> merged = Unneeded(inputs);
  merged.push_back(node);
  NoteOrigins(node, merged);
  return true;
}

bool Editor::TakeOver(int node, int user, const std::string& type, std::vector<Port> inputs,
                      Attributes attributes) {
  return Alike({user, 0}, {node, 0}) && Rewrite(node, type, std::move(inputs), std::move(attributes)) &&
         Replace({user, 0}, {node, 0});
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
