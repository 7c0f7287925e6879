// The functions that take or return std::string. This file is compiled twice, once for each std::string of
// libstdc++, so it must not include anything of the core: what it calls takes AscendString or pointers.
#include <map>
#include <string>

#include "ge/ge_api.h"
#include "ge/ge_ir_build.h"
#include "ge/kept_names.h"
#include "graph/graph.h"
#include "graph/operator_factory.h"

namespace ge {
namespace {

std::map<AscendString, AscendString> Converted(const std::map<std::string, std::string>& options) {
  std::map<AscendString, AscendString> converted;
  for (const auto& option : options) converted.emplace(option.first.c_str(), option.second.c_str());
  return converted;
}

AscendString Converted(const std::string& text) { return AscendString(text.data(), text.size()); }
std::string Converted(const AscendString& text) { return std::string(text.GetString(), text.GetLength()); }

template <class From>
auto ConvertedAll(const From& texts) {
  std::vector<decltype(Converted(texts[0]))> converted;
  for (const auto& text : texts) converted.push_back(Converted(text));
  return converted;
}

// What a function with an AscendString parameter gives, for a std::string one.
template <class F>
std::string TextFrom(F get) {
  AscendString text;
  get(text);
  return Converted(text);
}

}  // namespace

// --- tensors

std::string TensorDesc::GetName() const {
  return TextFrom([this](AscendString& name) { GetName(name); });
}
void TensorDesc::SetName(const std::string& name) { SetName(name.c_str()); }
graphStatus Tensor::SetData(const std::string& data) {
  return SetData(reinterpret_cast<const uint8_t*>(data.c_str()), data.size() + 1);
}
graphStatus Tensor::SetData(const std::vector<std::string>& data) { return SetData(ConvertedAll(data)); }
graphStatus AttrValue::GetValue(STR& val) const {
  AscendString text;
  graphStatus status = const_cast<AttrValue*>(this)->GetValue(text);
  if (status == GRAPH_SUCCESS) val = Converted(text);
  return status;
}

// --- graphs

Graph::Graph(const std::string& name) : Graph(name.c_str()) {}
Graph& Graph::SetOutputs(const std::vector<std::pair<Operator, std::string>>& outputs) {
  std::vector<std::pair<Operator, AscendString>> converted;
  for (const auto& output : outputs) converted.emplace_back(output.first, Converted(output.second));
  return SetOutputs(converted);
}
graphStatus Graph::FindOpByName(const std::string& name, Operator& op) const {
  return FindOpByName(name.c_str(), op);
}
graphStatus Graph::FindOpByType(const std::string& type, std::vector<Operator>& ops) const {
  return FindOpByType(type.c_str(), ops);
}
graphStatus Graph::GetAllOpName(std::vector<std::string>& op_name) const {
  std::vector<AscendString> names;
  graphStatus status = GetAllOpName(names);
  op_name = ConvertedAll(names);
  return status;
}
graphStatus Graph::SaveToFile(const std::string& file_name) const { return SaveToFile(file_name.c_str()); }
graphStatus Graph::LoadFromFile(const std::string& file_name) { return LoadFromFile(file_name.c_str()); }
// A reference that lives as long as the graph: the text is kept beside it.
const std::string& Graph::GetName() const {
  static const std::string none;
  AscendString name;
  if (GetName(name) != GRAPH_SUCCESS) return none;
  std::shared_ptr<void>& kept = KeptName(*this, _GLIBCXX_USE_CXX11_ABI);
  if (kept == nullptr) kept = std::make_shared<std::string>(Converted(name));
  return *static_cast<std::string*>(kept.get());
}

// --- operators

Operator::Operator(const std::string& type) : Operator(type.c_str()) {}
Operator::Operator(const std::string& name, const std::string& type) : Operator(name.c_str(), type.c_str()) {}
std::string Operator::GetName() const {
  return TextFrom([this](AscendString& name) { GetName(name); });
}
std::string Operator::GetOpType() const {
  return TextFrom([this](AscendString& type) { GetOpType(type); });
}
Operator& Operator::SetInput(const std::string& dst_name, const Operator& src_oprt) {
  return SetInput(dst_name.c_str(), src_oprt);
}
Operator& Operator::SetInput(const std::string& dst_name, const Operator& src_oprt, const std::string& name) {
  return SetInput(dst_name.c_str(), src_oprt, name.c_str());
}
Operator& Operator::SetInput(const std::string& dst_name, const Operator& src_oprt, uint32_t index) {
  return SetInput(dst_name.c_str(), src_oprt, index);
}
graphStatus Operator::GetInputConstData(const std::string& dst_name, Tensor& data) const {
  return GetInputConstData(dst_name.c_str(), data);
}
TensorDesc Operator::GetInputDesc(const std::string& name) const { return GetInputDescByName(name.c_str()); }
graphStatus Operator::TryGetInputDesc(const std::string& name, TensorDesc& desc) const {
  return TryGetInputDesc(name.c_str(), desc);
}
graphStatus Operator::UpdateInputDesc(const std::string& name, const TensorDesc& desc) {
  return UpdateInputDesc(name.c_str(), desc);
}
TensorDesc Operator::GetOutputDesc(const std::string& name) const {
  return GetOutputDescByName(name.c_str());
}
graphStatus Operator::UpdateOutputDesc(const std::string& name, const TensorDesc& desc) {
  return UpdateOutputDesc(name.c_str(), desc);
}
int32_t Operator::GetDynamicOutputNum(const std::string& name) const {
  return GetDynamicOutputNum(name.c_str());
}
int32_t Operator::GetDynamicInputNum(const std::string& name) const {
  return GetDynamicInputNum(name.c_str());
}
TensorDesc Operator::GetDynamicInputDesc(const std::string& name, uint32_t index) const {
  return GetDynamicInputDesc(name.c_str(), index);
}
graphStatus Operator::UpdateDynamicInputDesc(const std::string& name, uint32_t index,
                                             const TensorDesc& desc) {
  return UpdateDynamicInputDesc(name.c_str(), index, desc);
}
TensorDesc Operator::GetDynamicOutputDesc(const std::string& name, uint32_t index) const {
  return GetDynamicOutputDesc(name.c_str(), index);
}
graphStatus Operator::UpdateDynamicOutputDesc(const std::string& name, uint32_t index,
                                              const TensorDesc& desc) {
  return UpdateDynamicOutputDesc(name.c_str(), index, desc);
}
const std::map<std::string, std::string> Operator::GetAllAttrNamesAndTypes() const {
  std::map<AscendString, AscendString> types;
  GetAllAttrNamesAndTypes(types);
  std::map<std::string, std::string> converted;
  for (const auto& row : types) converted.emplace(Converted(row.first), Converted(row.second));
  return converted;
}

#define BOTH(By, T)                                                                               \
  Operator& Operator::SetAttr(const std::string& name, By v) { return SetAttr(name.c_str(), v); } \
  graphStatus Operator::GetAttr(const std::string& name, T& v) const { return GetAttr(name.c_str(), v); }
BOTH(int64_t, int64_t)
BOTH(int32_t, int32_t)
BOTH(uint32_t, uint32_t)
BOTH(const std::vector<int64_t>&, std::vector<int64_t>)
BOTH(const std::vector<int32_t>&, std::vector<int32_t>)
BOTH(const std::vector<uint32_t>&, std::vector<uint32_t>)
BOTH(float32_t, float32_t)
BOTH(const std::vector<float32_t>&, std::vector<float32_t>)
BOTH(bool, bool)
BOTH(const std::vector<bool>&, std::vector<bool>)
BOTH(const Tensor&, Tensor)
BOTH(const std::vector<Tensor>&, std::vector<Tensor>)
BOTH(const OpBytes&, OpBytes)
BOTH(const std::vector<std::vector<int64_t>>&, std::vector<std::vector<int64_t>>)
BOTH(const std::vector<DataType>&, std::vector<DataType>)
BOTH(const DataType&, DataType)
#undef BOTH

Operator& Operator::SetAttr(const std::string& name, std::initializer_list<int64_t>&& v) {
  return SetAttr(name.c_str(), std::move(v));
}
Operator& Operator::SetAttr(const std::string& name, AttrValue&& v) {
  return SetAttr(name.c_str(), std::move(v));
}
graphStatus Operator::GetAttr(const std::string& name, AttrValue& v) const {
  return GetAttr(name.c_str(), v);
}
Operator& Operator::SetAttr(const std::string& name, const std::string& v) {
  return SetAttr(name.c_str(), Converted(v));
}
graphStatus Operator::GetAttr(const std::string& name, std::string& v) const {
  AscendString text;
  graphStatus status = GetAttr(name.c_str(), text);
  if (status == GRAPH_SUCCESS) v = Converted(text);
  return status;
}
Operator& Operator::SetAttr(const std::string& name, const std::vector<std::string>& v) {
  return SetAttr(name.c_str(), ConvertedAll(v));
}
graphStatus Operator::GetAttr(const std::string& name, std::vector<std::string>& v) const {
  std::vector<AscendString> texts;
  graphStatus status = GetAttr(name.c_str(), texts);
  if (status == GRAPH_SUCCESS) v = ConvertedAll(texts);
  return status;
}

std::vector<std::string> Operator::GetSubgraphNames() const {
  std::vector<AscendString> names;
  GetSubgraphNames(names);
  return ConvertedAll(names);
}
SubgraphBuilder Operator::GetSubgraphBuilder(const std::string& name) const {
  return GetSubgraphBuilder(name.c_str());
}
Graph Operator::GetSubgraph(const std::string& name) const { return GetSubgraph(name.c_str()); }
SubgraphBuilder Operator::GetDynamicSubgraphBuilder(const std::string& name, uint32_t index) const {
  return GetDynamicSubgraphBuilder(name.c_str(), index);
}
Graph Operator::GetDynamicSubgraph(const std::string& name, uint32_t index) const {
  return GetDynamicSubgraph(name.c_str(), index);
}

Operator OperatorFactory::CreateOperator(const std::string& operator_name, const std::string& operator_type) {
  return CreateOperator(operator_name.c_str(), operator_type.c_str());
}
graphStatus OperatorFactory::GetOpsTypeList(std::vector<std::string>& all_ops) {
  std::vector<AscendString> types;
  graphStatus status = GetOpsTypeList(types);
  all_ops = ConvertedAll(types);
  return status;
}
bool OperatorFactory::IsExistOp(const std::string& operator_type) { return IsExistOp(operator_type.c_str()); }

// --- building

graphStatus aclgrphBuildInitialize(std::map<std::string, std::string> global_options) {
  auto options = Converted(global_options);
  return aclgrphBuildInitialize(options);
}
graphStatus aclgrphBuildModel(const Graph& graph, const std::map<std::string, std::string>& build_options,
                              ModelBufferData& model) {
  return aclgrphBuildModel(graph, Converted(build_options), model);
}
graphStatus aclgrphBuildModel(const std::vector<Graph>& graphs,
                              const std::map<std::string, std::string>& build_options,
                              ModelBufferData& model) {
  return aclgrphBuildModel(graphs, Converted(build_options), model);
}
graphStatus aclgrphSaveModel(const std::string& output_file, const ModelBufferData& model) {
  return aclgrphSaveModel(output_file.c_str(), model);
}

// --- sessions

Status GEInitialize(const std::map<std::string, std::string>& options) {
  return GEInitialize(Converted(options));
}
std::string GEGetErrorMsg() { return Converted(GEGetErrorMsgV2()); }
std::string GEGetWarningMsg() { return Converted(GEGetWarningMsgV2()); }
Session::Session(const std::map<std::string, std::string>& options) : Session(Converted(options)) {}
Status Session::AddGraph(uint32_t graph_id, const Graph& graph,
                         const std::map<std::string, std::string>& options) {
  return AddGraph(graph_id, graph, Converted(options));
}
Status Session::LoadGraph(const uint32_t graph_id, const std::map<std::string, std::string>& options,
                          const std::string& om_file_path) const {
  return LoadSessionGraph(sessionId_, graph_id, Converted(options), om_file_path.c_str());
}

Status Session::GetVariables(const std::vector<std::string>& var_names, std::vector<Tensor>& var_values) {
  return GetVariables(ConvertedAll(var_names), var_values);
}
Status Session::RegisterCallBackFunc(const std::string& key, const pCallBackFunc&) {
  return RegisterCallBackFunc(key.c_str(), session::pCallBackFunc());
}

}  // namespace ge
