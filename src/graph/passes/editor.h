// What passes that look for patterns need: who uses a value, and putting another in its place. Shapes and
// types stay what they are: a change that would make others is not made, and the pass goes on without it.
#pragma once

#include <optional>
#include <vector>

#include "graph/ir.h"
#include "graph/translation.h"

namespace belay::graph {

// Of a node that was made of several: their names, as aclmdlGetOpAttr calls them.
inline constexpr const char* kOriginsAttribute = "_datadump_original_op_names";

class Editor {
 public:
  // kLater: of a graph as it was read, in which only inputs have types; what is rewritten gets its type
  // later.
  enum class Types : uint8_t { kKnown, kLater };
  explicit Editor(Graph& graph, Types types = Types::kKnown);

  Graph& graph() { return graph_; }
  Node& at(int node) { return graph_.nodes[static_cast<size_t>(node)]; }
  const ValueType& TypeOf(const Port& port) const;
  Constant ConstantAt(const Port& port) const;
  // The element of a constant that has just one.
  std::optional<double> NumberAt(const Port& port) const;
  // The only node that reads the value, or -1 when there are several, or it leaves the graph.
  int OnlyUser(const Port& port) const;
  // What a translation is told of the inputs.
  std::vector<KnownInput> KnownInputs(const std::vector<Port>& inputs) const;
  // Whoever read `old` reads `now`. False: they differ in type or shape.
  bool Replace(Port old, Port now);
  // The node computes something else from now on; its outputs stay where they are, and one that keeps its
  // type (operator_list.h) goes on to. False: it would compute another type or shape, or cannot compute that.
  [[nodiscard]] bool Rewrite(int node, const std::string& type, std::vector<Port> inputs,
                             Attributes attributes);
  // The same, and it computes what its only user did.
  [[nodiscard]] bool TakeOver(int node, int user, const std::string& type, std::vector<Port> inputs,
                              Attributes attributes);
  // A node with one output.
  Port AddNode(const std::string& name, std::string type, std::vector<Port> inputs, const ValueType& output);
  Port AddConstant(const std::string& name, Constant value);

 private:
  static constexpr int kOutside = -1;  // the user of an output of the graph
  struct Use {
    Port port;
    int user;
  };
  std::vector<Use>& UsesOf(const Port& port) { return uses_[static_cast<size_t>(port.node)]; }
  bool KeepsTypes(int node, const std::string& type, const std::vector<Port>& inputs,
                  const Attributes& attributes) const;
  bool Alike(const Port& a, const Port& b) const;
  void NoteOrigins(int node, const std::vector<int>& merged);
  std::vector<int> Unneeded(const std::vector<Port>& dropped);
  void Enlist(int user);
  void Strike(int user);

  Graph& graph_;
  const Types types_;
  std::vector<std::vector<Use>> uses_;  // of each node's outputs, one entry an input that reads it
};

inline bool Flag(const Node& node, const char* name) {
  const auto* flag = FindAttribute<bool>(node, name);
  return flag != nullptr && *flag;
}

// By either of its names.
inline bool IsDivision(const Node& node) { return node.type == "Div" || node.type == "RealDiv"; }

}  // namespace belay::graph
