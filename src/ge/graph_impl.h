// What stands behind a ge::Graph: the nodes that a program connected, or a graph that was read from a
// model and becomes nodes only when somebody looks at them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ge/operator_impl.h"
#include "graph/graph.h"
#include "graph/ir.h"

namespace ge {

struct OutputPick {
  NodePtr node;
  size_t output = 0;
  std::string name;
};

class NodeImpl {
 public:
  NodePtr node;
  // Null for an empty GNode.
  static NodePtr Of(const GNode& node) { return node.impl_ == nullptr ? nullptr : node.impl_->node; }
  static GNode Facade(NodePtr node);
};

class GraphImpl {
 public:
  explicit GraphImpl(std::string graph_name) : name(std::move(graph_name)) {}

  // Of a graph that may be default-constructed: it becomes an empty one.
  static GraphImpl& Of(Graph& graph);
  // Throws Error when the graph is default-constructed.
  static const GraphImpl& Of(const Graph& graph);

  // Becomes a graph that was read from somewhere.
  void Adopt(belay::graph::Graph read);
  // As the compiler takes it. Throws Error that names an operator that is not connected as it must be.
  belay::graph::Graph Lower() const;

  // For programs that connect operators and for those that look at nodes.
  void SetInputs(std::vector<NodePtr> inputs);
  void SetOutputs(std::vector<OutputPick> outputs);
  void SetTargets(std::vector<NodePtr> targets);
  void Add(NodePtr node);
  // Takes the node away, and its connections.
  void Remove(const NodePtr& node);
  // All that belong to the graph.
  std::vector<NodePtr> Nodes() const;
  NodePtr NodeNamed(const std::string& node_name) const;
  bool empty() const;

  std::string name;
  // What SetInputs, SetOutputs and SetTargets, which return no status, last said of themselves; told when it
  // is built.
  std::map<std::string, std::string> problems;
  // The latest of them that there was no memory for; null: none.
  const char* out_of_memory_in = nullptr;
  // The names that GetName hands out by reference, one for each std::string; kept by string_overloads.cc.
  mutable std::shared_ptr<void> kept_names[2];

 private:
  void Expand() const;

  // Mutable: looking at the nodes of a graph that was read makes them.
  mutable std::shared_ptr<const belay::graph::Graph> read_;
  mutable std::vector<NodePtr> inputs_, nodes_, targets_;
  mutable std::vector<OutputPick> outputs_;
};

// A node without its connections.
belay::graph::Node LoweredNode(OperatorImpl& node);

}  // namespace ge
