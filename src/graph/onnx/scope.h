// The names of one graph of a model while it is imported, and those of the graphs around it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/ir.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/model.h"

namespace belay::graph::onnx {

// The functions of the model that are being put in place of calls, and how many nodes came from them: a file
// of a few bytes can ask for any number.
struct FunctionCalls {
  std::vector<const FunctionData*> open;
  size_t nodes = 0;
};

class Scope {
 public:
  Scope(const ModelData& model, const std::string& folder, Graph& graph, FunctionCalls& calls)
      : model_(model), folder_(folder), graph_(graph), calls_(calls) {}
  // Other names: of a function or a body in the graph around it.
  Scope(const Scope& around, Graph& graph) : Scope(around.model_, around.folder_, graph, around.calls_) {}

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
  void CheckCall(const FunctionData& function);

  const ModelData& model_;
  const std::string& folder_;
  Graph& graph_;
  FunctionCalls& calls_;
  std::map<std::string, Port> ports_;
};

// The nodes of the function with what the call gives for its parameters. Throws Error when the call gives
// others.
std::vector<NodeData> Called(const FunctionData& function, const NodeData& call);

// What the nodes of a body read and do not define themselves.
std::set<std::string> FreeNames(const GraphData& body);

}  // namespace belay::graph::onnx
