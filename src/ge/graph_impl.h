// What stands behind a ge::Graph.
#pragma once

#include <memory>
#include <string>

#include "graph/graph.h"
#include "graph/ir.h"

namespace ge {

class GraphImpl {
 public:
  explicit GraphImpl(std::string graph_name) : name(std::move(graph_name)) {}

  // Of a graph that may be default-constructed: it becomes an empty one.
  static GraphImpl& Of(Graph& graph);
  // Throws Error when the graph is default-constructed.
  static const GraphImpl& Of(const Graph& graph);

  // Becomes a graph that was read from somewhere.
  void Adopt(belay::graph::Graph read);
  // As the compiler takes it.
  belay::graph::Graph Lower() const;

  std::string name;

 private:
  std::shared_ptr<const belay::graph::Graph> read_;
};

}  // namespace ge
