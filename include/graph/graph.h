// A graph of operators.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ascend_string.h"
#include "ge_error_codes.h"
#include "gnode.h"
#include "operator.h"

namespace ge {

class GraphImpl;

// Copies stand for the same graph; CopyFrom makes an independent one.
class __attribute__((visibility("default"))) Graph {
 public:
  explicit Graph(const std::string& name);
  explicit Graph(const char_t* name);
  Graph() = default;
  ~Graph() = default;

  // The graph's inputs are these Data operators, in this order; everything that depends on them belongs
  // to the graph.
  Graph& SetInputs(const std::vector<Operator>& inputs);
  // The graph's outputs: all outputs of these operators, some of them by number, or one each by name.
  Graph& SetOutputs(const std::vector<Operator>& outputs);
  Graph& SetOutputs(const std::vector<std::pair<Operator, std::vector<size_t>>>& output_indexs);
  Graph& SetOutputs(const std::vector<std::pair<ge::Operator, std::string>>& outputs);
  Graph& SetOutputs(const std::vector<std::pair<ge::Operator, AscendString>>& outputs);
  // Operators that must run although nothing of them is an output.
  Graph& SetTargets(const std::vector<Operator>& targets);
  // Has the graph any operator?
  bool IsValid() const;

  // Adds an operator and what it reads. GRAPH_FAILED when another operator has its name.
  graphStatus AddOp(const ge::Operator& op);
  graphStatus FindOpByName(const std::string& name, ge::Operator& op) const;
  graphStatus FindOpByName(const char_t* name, ge::Operator& op) const;
  graphStatus FindOpByType(const std::string& type, std::vector<ge::Operator>& ops) const;
  graphStatus FindOpByType(const char_t* type, std::vector<ge::Operator>& ops) const;
  graphStatus GetAllOpName(std::vector<std::string>& op_name) const;
  graphStatus GetAllOpName(std::vector<AscendString>& names) const;

  // In Belay's own format (docs/om.md), which other programs cannot read.
  graphStatus SaveToFile(const std::string& file_name) const;
  graphStatus SaveToFile(const char_t* file_name) const;
  graphStatus LoadFromFile(const std::string& file_name);
  graphStatus LoadFromFile(const char_t* file_name);
  graphStatus LoadFromSerializedModelArray(const void* serialized_model, size_t size);

  const std::string& GetName() const;
  graphStatus GetName(AscendString& name) const;
  void SetNeedIteration(bool need_iteration);

  // The nodes, with those of bodies or without.
  std::vector<GNode> GetAllNodes() const;
  std::vector<GNode> GetDirectNode() const;
  graphStatus RemoveNode(GNode& node);
  graphStatus RemoveNode(GNode& node, bool contain_subgraph);
  graphStatus RemoveEdge(GNode& src_node, const int32_t src_port_index, GNode& dst_node, const int32_t dst_port_index);
  GNode AddNodeByOp(const Operator& op);
  graphStatus AddDataEdge(GNode& src_node, const int32_t src_port_index, GNode& dst_node, const int32_t dst_port_index);
  graphStatus AddControlEdge(GNode& src_node, GNode& dst_node);

  graphStatus CopyFrom(const Graph& src_graph);
  // Everything that depends on the inputs, as a graph; null when the inputs are empty.
  static GraphPtr ConstructFromInputs(const std::vector<Operator>& inputs, const AscendString& name);

 private:
  friend class GraphImpl;
  std::shared_ptr<GraphImpl> impl_;
};

}  // namespace ge
