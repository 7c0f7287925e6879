// One operator of a graph while it is built: what it reads, its attributes, and the descriptions of its
// inputs and outputs. The classes ge::op::X (opp/built-in/op_proto/inc) derive from it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ascend_string.h"
#include "ge_error_codes.h"
#include "tensor.h"
#include "types.h"

namespace ge {

class AttrValue;
class Graph;
class GraphImpl;
class InferenceContext;
class Operator;
class OperatorImpl;

using OpBytes = std::vector<uint8_t>;
using OperatorImplPtr = std::shared_ptr<OperatorImpl>;
using InferenceContextPtr = std::shared_ptr<InferenceContext>;
// Makes a body of a control-flow operator.
using SubgraphBuilder = std::function<Graph()>;

// Copies stand for the same operator. Functions that return Operator& return this one, so that calls can
// be chained; what went wrong in them is told when the graph is built.
class __attribute__((visibility("default"))) Operator {
 public:
  Operator() {}
  explicit Operator(const std::string& type);
  explicit Operator(const char_t* type);
  Operator(const std::string& name, const std::string& type);
  Operator(const AscendString& name, const AscendString& type);
  Operator(const char_t* name, const char_t* type);
  virtual ~Operator() = default;

  // True for an operator that was default-constructed, or that OperatorFactory did not know.
  bool IsEmpty() const;
  std::string GetName() const;
  graphStatus GetName(AscendString& name) const;
  std::string GetOpType() const;
  graphStatus GetOpType(AscendString& type) const;

  // The input reads the source's only output, or the output of that name or number.
  Operator& SetInput(const std::string& dst_name, const Operator& src_oprt);
  Operator& SetInput(const char_t* dst_name, const Operator& src_oprt);
  Operator& SetInput(const std::string& dst_name, const Operator& src_oprt, const std::string& name);
  Operator& SetInput(const char_t* dst_name, const Operator& src_oprt, const char_t* name);
  Operator& SetInput(const std::string& dst_name, const Operator& src_oprt, uint32_t index);
  Operator& SetInput(const char_t* dst_name, const Operator& src_oprt, uint32_t index);
  Operator& SetInput(uint32_t dst_index, const Operator& src_oprt, uint32_t src_index);
  // This operator runs after the other, though it reads nothing of it.
  Operator& AddControlInput(const Operator& src_oprt);
  // What a constant that the input reads holds; GRAPH_FAILED when it reads no constant.
  graphStatus GetInputConstData(const std::string& dst_name, Tensor& data) const;
  graphStatus GetInputConstData(const char_t* dst_name, Tensor& data) const;

  // Descriptions by name or number. An empty one, or GRAPH_FAILED, when there is no such input or output.
  TensorDesc GetInputDesc(const std::string& name) const;
  TensorDesc GetInputDescByName(const char_t* name) const;
  TensorDesc GetInputDesc(uint32_t index) const;
  graphStatus TryGetInputDesc(const std::string& name, TensorDesc& tensor_desc) const;
  graphStatus TryGetInputDesc(const char_t* name, TensorDesc& tensor_desc) const;
  graphStatus UpdateInputDesc(const std::string& name, const TensorDesc& tensor_desc);
  graphStatus UpdateInputDesc(const char_t* name, const TensorDesc& tensor_desc);
  TensorDesc GetOutputDesc(const std::string& name) const;
  TensorDesc GetOutputDescByName(const char_t* name) const;
  TensorDesc GetOutputDesc(uint32_t index) const;
  graphStatus UpdateOutputDesc(const std::string& name, const TensorDesc& tensor_desc);
  graphStatus UpdateOutputDesc(const char_t* name, const TensorDesc& tensor_desc);
  size_t GetInputsSize() const;
  size_t GetOutputsSize() const;

  // Inputs and outputs that are a list.
  int32_t GetDynamicOutputNum(const std::string& name) const;
  int32_t GetDynamicOutputNum(const char_t* name) const;
  int32_t GetDynamicInputNum(const std::string& name) const;
  int32_t GetDynamicInputNum(const char_t* name) const;
  TensorDesc GetDynamicInputDesc(const std::string& name, uint32_t index) const;
  TensorDesc GetDynamicInputDesc(const char_t* name, uint32_t index) const;
  graphStatus UpdateDynamicInputDesc(const std::string& name, uint32_t index, const TensorDesc& tensor_desc);
  graphStatus UpdateDynamicInputDesc(const char_t* name, uint32_t index, const TensorDesc& tensor_desc);
  TensorDesc GetDynamicOutputDesc(const std::string& name, uint32_t index) const;
  TensorDesc GetDynamicOutputDesc(const char_t* name, uint32_t index) const;
  graphStatus UpdateDynamicOutputDesc(const std::string& name, uint32_t index, const TensorDesc& tensor_desc);
  graphStatus UpdateDynamicOutputDesc(const char_t* name, uint32_t index, const TensorDesc& tensor_desc);

  // Works out the descriptions of the outputs from those of the inputs.
  graphStatus InferShapeAndType();
  // GRAPH_FAILED when a required attribute is missing.
  graphStatus VerifyAllAttr(bool disable_common_verifier = false);

  // Name and type ("VT_INT", "VT_LIST_INT", ...) of the attributes that are set, or that the operator's
  // type has.
  const std::map<std::string, std::string> GetAllAttrNamesAndTypes() const;
  graphStatus GetAllAttrNamesAndTypes(std::map<AscendString, AscendString>& attr_name_types) const;
  graphStatus GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>& attr_name_types) const;

  // Attributes. GRAPH_FAILED when there is none of that name and type.
  Operator& SetAttr(const char_t* name, int64_t attr_value);
  graphStatus GetAttr(const char_t* name, int64_t& attr_value) const;
  Operator& SetAttr(const char_t* name, int32_t attr_value);
  graphStatus GetAttr(const char_t* name, int32_t& attr_value) const;
  Operator& SetAttr(const char_t* name, uint32_t attr_value);
  graphStatus GetAttr(const char_t* name, uint32_t& attr_value) const;
  Operator& SetAttr(const char_t* name, const std::vector<int64_t>& attr_value);
  graphStatus GetAttr(const char_t* name, std::vector<int64_t>& attr_value) const;
  Operator& SetAttr(const char_t* name, const std::vector<int32_t>& attr_value);
  graphStatus GetAttr(const char_t* name, std::vector<int32_t>& attr_value) const;
  Operator& SetAttr(const char_t* name, const std::vector<uint32_t>& attr_value);
  graphStatus GetAttr(const char_t* name, std::vector<uint32_t>& attr_value) const;
  Operator& SetAttr(const char_t* name, float32_t attr_value);
  graphStatus GetAttr(const char_t* name, float32_t& attr_value) const;
  Operator& SetAttr(const char_t* name, const std::vector<float32_t>& attr_value);
  graphStatus GetAttr(const char_t* name, std::vector<float32_t>& attr_value) const;
  Operator& SetAttr(const char_t* name, const AscendString& attr_value);
  graphStatus GetAttr(const char_t* name, AscendString& attr_value) const;
  Operator& SetAttr(const char_t* name, const std::vector<AscendString>& attr_value);
  graphStatus GetAttr(const char_t* name, std::vector<AscendString>& attr_value) const;
  Operator& SetAttr(const char_t* name, bool attr_value);
  graphStatus GetAttr(const char_t* name, bool& attr_value) const;
  Operator& SetAttr(const char_t* name, const std::vector<bool>& attr_value);
  graphStatus GetAttr(const char_t* name, std::vector<bool>& attr_value) const;
  Operator& SetAttr(const char_t* name, const Tensor& attr_value);
  graphStatus GetAttr(const char_t* name, Tensor& attr_value) const;
  Operator& SetAttr(const char_t* name, const std::vector<Tensor>& attr_value);
  graphStatus GetAttr(const char_t* name, std::vector<Tensor>& attr_value) const;
  Operator& SetAttr(const char_t* name, const OpBytes& attr_value);
  graphStatus GetAttr(const char_t* name, OpBytes& attr_value) const;
  Operator& SetAttr(const char_t* name, const std::vector<std::vector<int64_t>>& attr_value);
  graphStatus GetAttr(const char_t* name, std::vector<std::vector<int64_t>>& attr_value) const;
  Operator& SetAttr(const char_t* name, const std::vector<ge::DataType>& attr_value);
  graphStatus GetAttr(const char_t* name, std::vector<ge::DataType>& attr_value) const;
  Operator& SetAttr(const char_t* name, const ge::DataType& attr_value);
  graphStatus GetAttr(const char_t* name, ge::DataType& attr_value) const;
  Operator& SetAttr(const char_t* name, std::initializer_list<int64_t>&& attr_value);
  Operator& SetAttr(const char_t* name, AttrValue&& attr_value);
  graphStatus GetAttr(const char_t* name, AttrValue& attr_value) const;
  Operator& SetAttr(const char_t* name, const char_t* attr_value);

  Operator& SetAttr(const std::string& name, int64_t attr_value);
  graphStatus GetAttr(const std::string& name, int64_t& attr_value) const;
  Operator& SetAttr(const std::string& name, int32_t attr_value);
  graphStatus GetAttr(const std::string& name, int32_t& attr_value) const;
  Operator& SetAttr(const std::string& name, uint32_t attr_value);
  graphStatus GetAttr(const std::string& name, uint32_t& attr_value) const;
  Operator& SetAttr(const std::string& name, const std::vector<int64_t>& attr_value);
  graphStatus GetAttr(const std::string& name, std::vector<int64_t>& attr_value) const;
  Operator& SetAttr(const std::string& name, const std::vector<int32_t>& attr_value);
  graphStatus GetAttr(const std::string& name, std::vector<int32_t>& attr_value) const;
  Operator& SetAttr(const std::string& name, const std::vector<uint32_t>& attr_value);
  graphStatus GetAttr(const std::string& name, std::vector<uint32_t>& attr_value) const;
  Operator& SetAttr(const std::string& name, float32_t attr_value);
  graphStatus GetAttr(const std::string& name, float32_t& attr_value) const;
  Operator& SetAttr(const std::string& name, const std::vector<float32_t>& attr_value);
  graphStatus GetAttr(const std::string& name, std::vector<float32_t>& attr_value) const;
  Operator& SetAttr(const std::string& name, const std::string& attr_value);
  graphStatus GetAttr(const std::string& name, std::string& attr_value) const;
  Operator& SetAttr(const std::string& name, const std::vector<std::string>& attr_value);
  graphStatus GetAttr(const std::string& name, std::vector<std::string>& attr_value) const;
  Operator& SetAttr(const std::string& name, bool attr_value);
  graphStatus GetAttr(const std::string& name, bool& attr_value) const;
  Operator& SetAttr(const std::string& name, const std::vector<bool>& attr_value);
  graphStatus GetAttr(const std::string& name, std::vector<bool>& attr_value) const;
  Operator& SetAttr(const std::string& name, const Tensor& attr_value);
  graphStatus GetAttr(const std::string& name, Tensor& attr_value) const;
  Operator& SetAttr(const std::string& name, const std::vector<Tensor>& attr_value);
  graphStatus GetAttr(const std::string& name, std::vector<Tensor>& attr_value) const;
  Operator& SetAttr(const std::string& name, const OpBytes& attr_value);
  graphStatus GetAttr(const std::string& name, OpBytes& attr_value) const;
  Operator& SetAttr(const std::string& name, const std::vector<std::vector<int64_t>>& attr_value);
  graphStatus GetAttr(const std::string& name, std::vector<std::vector<int64_t>>& attr_value) const;
  Operator& SetAttr(const std::string& name, const std::vector<ge::DataType>& attr_value);
  graphStatus GetAttr(const std::string& name, std::vector<ge::DataType>& attr_value) const;
  Operator& SetAttr(const std::string& name, const ge::DataType& attr_value);
  graphStatus GetAttr(const std::string& name, ge::DataType& attr_value) const;
  Operator& SetAttr(const std::string& name, std::initializer_list<int64_t>&& attr_value);
  Operator& SetAttr(const std::string& name, AttrValue&& attr_value);
  graphStatus GetAttr(const std::string& name, AttrValue& attr_value) const;

  // Attributes of an input or output.
  Operator& SetInputAttr(const int32_t index, const char_t* name, const char_t* attr_value);
  Operator& SetInputAttr(const int32_t index, const char_t* name, const AscendString& attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, AscendString& attr_value) const;
  Operator& SetInputAttr(const int32_t index, const char_t* name, int64_t attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, int64_t& attr_value) const;
  Operator& SetInputAttr(const int32_t index, const char_t* name, int32_t attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, int32_t& attr_value) const;
  Operator& SetInputAttr(const int32_t index, const char_t* name, uint32_t attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, uint32_t& attr_value) const;
  Operator& SetInputAttr(const int32_t index, const char_t* name, bool attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, bool& attr_value) const;
  Operator& SetInputAttr(const int32_t index, const char_t* name, float32_t attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, float32_t& attr_value) const;
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<AscendString>& attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<AscendString>& attr_value) const;
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<int64_t>& attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<int64_t>& attr_value) const;
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<int32_t>& attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<int32_t>& attr_value) const;
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<uint32_t>& attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<uint32_t>& attr_value) const;
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<bool>& attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<bool>& attr_value) const;
  Operator& SetInputAttr(const int32_t index, const char_t* name, const std::vector<float32_t>& attr_value);
  graphStatus GetInputAttr(const int32_t index, const char_t* name, std::vector<float32_t>& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const char_t* attr_value);
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const AscendString& attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, AscendString& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, int64_t attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, int64_t& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, int32_t attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, int32_t& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, uint32_t attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, uint32_t& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, bool attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, bool& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, float32_t attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, float32_t& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<AscendString>& attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<AscendString>& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<int64_t>& attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<int64_t>& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<int32_t>& attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<int32_t>& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<uint32_t>& attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<uint32_t>& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<bool>& attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<bool>& attr_value) const;
  Operator& SetOutputAttr(const int32_t index, const char_t* name, const std::vector<float32_t>& attr_value);
  graphStatus GetOutputAttr(const int32_t index, const char_t* name, std::vector<float32_t>& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const char_t* attr_value);
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const AscendString& attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, AscendString& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, int64_t attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, int64_t& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, int32_t attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, int32_t& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, uint32_t attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, uint32_t& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, bool attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, bool& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, float32_t attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, float32_t& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<AscendString>& attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<AscendString>& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<int64_t>& attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<int64_t>& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<int32_t>& attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<int32_t>& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<uint32_t>& attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<uint32_t>& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<bool>& attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<bool>& attr_value) const;
  Operator& SetInputAttr(const char_t* dst_name, const char_t* name, const std::vector<float32_t>& attr_value);
  graphStatus GetInputAttr(const char_t* dst_name, const char_t* name, std::vector<float32_t>& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const char_t* attr_value);
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const AscendString& attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, AscendString& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, int64_t attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, int64_t& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, int32_t attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, int32_t& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, uint32_t attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, uint32_t& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, bool attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, bool& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, float32_t attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, float32_t& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<AscendString>& attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<AscendString>& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<int64_t>& attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<int64_t>& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<int32_t>& attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<int32_t>& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<uint32_t>& attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<uint32_t>& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<bool>& attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<bool>& attr_value) const;
  Operator& SetOutputAttr(const char_t* dst_name, const char_t* name, const std::vector<float32_t>& attr_value);
  graphStatus GetOutputAttr(const char_t* dst_name, const char_t* name, std::vector<float32_t>& attr_value) const;

  // Takes away all connections.
  void BreakConnect() const;

  // Bodies of control-flow operators.
  size_t GetSubgraphNamesCount() const;
  std::vector<std::string> GetSubgraphNames() const;
  graphStatus GetSubgraphNames(std::vector<AscendString>& names) const;
  SubgraphBuilder GetSubgraphBuilder(const std::string& name) const;
  SubgraphBuilder GetSubgraphBuilder(const char_t* name) const;
  Graph GetSubgraph(const std::string& name) const;
  Graph GetSubgraph(const char_t* name) const;
  SubgraphBuilder GetDynamicSubgraphBuilder(const std::string& name, uint32_t index) const;
  SubgraphBuilder GetDynamicSubgraphBuilder(const char_t* name, uint32_t index) const;
  Graph GetDynamicSubgraph(const std::string& name, uint32_t index) const;
  Graph GetDynamicSubgraph(const char_t* name, uint32_t index) const;

 protected:
  // For the classes of ge::op: how long a list of inputs or outputs is, and bodies.
  void CreateDynamicInput(const char_t* name, uint32_t count);
  void CreateDynamicOutput(const char_t* name, uint32_t count);
  void SetDynamicInput(const char_t* name, uint32_t index, const Operator& src_oprt, const char_t* src_name);
  void SetSubgraphBuilder(const char_t* name, uint32_t index, const SubgraphBuilder& builder);

 private:
  friend class GraphImpl;
  friend class OperatorImpl;
  std::shared_ptr<OperatorImpl> operator_impl_;
};

}  // namespace ge
