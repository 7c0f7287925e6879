// The names of one graph of a model while it is imported, and those of the graphs around it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "graph/ir.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/model.h"

namespace belay::graph::onnx {

class Scope {
 public:
  Scope(const ModelData& model, const std::string& folder, Graph& graph)
      : model_(model), folder_(folder), graph_(graph) {}

  Graph& graph() { return graph_; }
  const ModelData& model() const { return model_; }
  const std::string& folder() const { return folder_; }

  // Everything in the order of the model; the outputs last.
  void Import(const GraphData& data);
  void ImportNodes(const std::vector<NodeData>& nodes);
  void Define(const std::string& name, Port port) { ports_[name] = port; }
  bool Knows(const std::string& name) const { return ports_.count(name) != 0; }
  // Throws Error that says who asked when there is no such value.
  Port Find(const std::string& name, const std::string& user) const;

 private:
  void ImportNode(const NodeData& node);
  void ImportFunction(const FunctionData& function, const NodeData& call);

  const ModelData& model_;
  const std::string& folder_;
  Graph& graph_;
  std::map<std::string, Port> ports_;
};

// What the nodes of a body read and do not define themselves.
std::set<std::string> FreeNames(const GraphData& body);

}  // namespace belay::graph::onnx
