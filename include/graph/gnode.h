// A node of a graph, for programs that look at graphs or change them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ascend_string.h"
#include "attr_value.h"
#include "ge_error_codes.h"
#include "tensor.h"
#include "types.h"

namespace ge {

class Graph;
class GNode;
class NodeImpl;

using GraphPtr = std::shared_ptr<Graph>;
using GNodePtr = std::shared_ptr<GNode>;
using OpBytes = std::vector<uint8_t>;

// Copies stand for the same node. Functions return GRAPH_FAILED when there is no such input, output or
// attribute, and when the node is empty.
class __attribute__((visibility("default"))) GNode {
 public:
  GNode();
  ~GNode() = default;

  graphStatus GetType(AscendString& type) const;
  graphStatus GetName(AscendString& name) const;

  // What an input reads, with the number of the output there; what reads an output, with the numbers of
  // the inputs there.
  std::pair<GNodePtr, int32_t> GetInDataNodesAndPortIndexs(const int32_t index) const;
  std::vector<GNodePtr> GetInControlNodes() const;
  std::vector<std::pair<GNodePtr, int32_t>> GetOutDataNodesAndPortIndexs(const int32_t index) const;
  std::vector<GNodePtr> GetOutControlNodes() const;
  // GRAPH_NODE_WITHOUT_CONST_INPUT when the input reads no constant.
  graphStatus GetInputConstData(const int32_t index, Tensor& data) const;

  graphStatus GetInputIndexByName(const AscendString& name, int32_t& index);
  graphStatus GetOutputIndexByName(const AscendString& name, int32_t& index);
  size_t GetInputsSize() const;
  size_t GetOutputsSize() const;
  graphStatus GetInputDesc(const int32_t index, TensorDesc& tensor_desc) const;
  graphStatus UpdateInputDesc(const int32_t index, const TensorDesc& tensor_desc);
  graphStatus GetOutputDesc(const int32_t index, TensorDesc& tensor_desc) const;
  graphStatus UpdateOutputDesc(const int32_t index, const TensorDesc& tensor_desc);

  graphStatus GetAttr(const AscendString& name, int64_t& attr_value) const;
  graphStatus SetAttr(const AscendString& name, int64_t& attr_value) const;
  graphStatus GetAttr(const AscendString& name, int32_t& attr_value) const;
  graphStatus SetAttr(const AscendString& name, int32_t& attr_value) const;
  graphStatus GetAttr(const AscendString& name, uint32_t& attr_value) const;
  graphStatus SetAttr(const AscendString& name, uint32_t& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<int64_t>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<int64_t>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<int32_t>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<int32_t>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<uint32_t>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<uint32_t>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, float32_t& attr_value) const;
  graphStatus SetAttr(const AscendString& name, float32_t& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<float32_t>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<float32_t>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, AscendString& attr_value) const;
  graphStatus SetAttr(const AscendString& name, AscendString& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<AscendString>& attr_values) const;
  graphStatus SetAttr(const AscendString& name, std::vector<AscendString>& attr_values) const;
  graphStatus GetAttr(const AscendString& name, bool& attr_value) const;
  graphStatus SetAttr(const AscendString& name, bool& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<bool>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<bool>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, Tensor& attr_value) const;
  graphStatus SetAttr(const AscendString& name, Tensor& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<Tensor>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<Tensor>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, OpBytes& attr_value) const;
  graphStatus SetAttr(const AscendString& name, OpBytes& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<std::vector<int64_t>>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<std::vector<int64_t>>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<ge::DataType>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<ge::DataType>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, ge::DataType& attr_value) const;
  graphStatus SetAttr(const AscendString& name, ge::DataType& attr_value) const;
  graphStatus GetAttr(const AscendString& name, AttrValue& attr_value) const;
  graphStatus SetAttr(const AscendString& name, AttrValue& attr_value) const;
  bool HasAttr(const AscendString& name);

  // Bodies of a control-flow operator.
  graphStatus GetSubgraph(uint32_t index, GraphPtr& graph) const;
  graphStatus GetALLSubgraphs(std::vector<GraphPtr>& graph_list) const;

 private:
  friend class GraphImpl;
  friend class NodeImpl;
  std::shared_ptr<NodeImpl> impl_;
};

}  // namespace ge
