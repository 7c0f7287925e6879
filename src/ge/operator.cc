// Operators as programs connect them.
#include "graph/operator.h"

#include "base/error.h"
#include "ge/codes.h"
#include "ge/guard.h"
#include "ge/infer.h"
#include "ge/operator_impl.h"

namespace ge {
namespace {

std::string TextOf(const char_t* text) { return text == nullptr ? "" : text; }

// Inputs that a schema does not know are added when they are named.
int InputToSet(OperatorImpl& node, const std::string& name) {
  int input = node.InputNamed(name);
  if (input >= 0) return input;
  if (node.schema != nullptr) {
    node.Note("it has no input '" + name + "'");
    return -1;
  }
  node.inputs.emplace_back().name = name;
  return static_cast<int>(node.inputs.size()) - 1;
}

void SetInputOf(const NodePtr& node, int input, const NodePtr& from, int output) {
  if (node == nullptr || input < 0) return;
  if (from == nullptr)
    return node->Note("input '" + node->inputs[static_cast<size_t>(input)].name +
                      "' was given an empty operator");
  if (from->schema == nullptr && from->outputs.empty()) from->outputs.emplace_back().name = "y";
  if (from->Output(output) == nullptr) {
    return node->Note("input '" + node->inputs[static_cast<size_t>(input)].name + "' reads an output of '" +
                      from->name + "' that does not exist");
  }
  node->Connect(input, from, output);
}

template <class F>
graphStatus WithSlot(Slot* slot, F use) {
  if (slot == nullptr) return GRAPH_FAILED;
  use(*slot);
  return GRAPH_SUCCESS;
}

TensorDesc DescIn(Slot* slot) { return slot == nullptr ? TensorDesc() : slot->desc; }

graphStatus Describe(Slot* slot, const TensorDesc& desc) {
  return WithSlot(slot, [&](Slot& to) {
    to.desc = desc;
    to.described = true;
  });
}

InputSlot* InputBy(const NodePtr& node, const char_t* name) {
  return node == nullptr ? nullptr : node->Input(node->InputNamed(TextOf(name)));
}
Slot* OutputBy(const NodePtr& node, const char_t* name) {
  return node == nullptr ? nullptr : node->Output(node->OutputNamed(TextOf(name)));
}

std::string Entry(const char_t* list, uint32_t index) { return TextOf(list) + std::to_string(index); }

}  // namespace

Operator::Operator(const char_t* type) : Operator(type, type) {}
Operator::Operator(const AscendString& name, const AscendString& type)
    : Operator(name.GetString(), type.GetString()) {}
Operator::Operator(const char_t* name, const char_t* type)
    : operator_impl_(OperatorImpl::Make(TextOf(name), TextOf(type))) {}

bool Operator::IsEmpty() const { return operator_impl_ == nullptr; }

graphStatus Operator::GetName(AscendString& name) const {
  if (operator_impl_ == nullptr) return GRAPH_FAILED;
  name = AscendString(operator_impl_->name.c_str());
  return GRAPH_SUCCESS;
}
graphStatus Operator::GetOpType(AscendString& type) const {
  if (operator_impl_ == nullptr) return GRAPH_FAILED;
  type = AscendString(operator_impl_->type.c_str());
  return GRAPH_SUCCESS;
}

// --- connections

Operator& Operator::SetInput(const char_t* dst_name, const Operator& src_oprt) {
  return SetInput(dst_name, src_oprt, 0u);
}
Operator& Operator::SetInput(const char_t* dst_name, const Operator& src_oprt, const char_t* name) {
  if (operator_impl_ == nullptr) return *this;
  const NodePtr& from = src_oprt.operator_impl_;
  int output = from == nullptr ? -1 : from->OutputNamed(TextOf(name));
  SetInputOf(operator_impl_, InputToSet(*operator_impl_, TextOf(dst_name)), from, output);
  return *this;
}
Operator& Operator::SetInput(const char_t* dst_name, const Operator& src_oprt, uint32_t index) {
  if (operator_impl_ == nullptr) return *this;
  SetInputOf(operator_impl_, InputToSet(*operator_impl_, TextOf(dst_name)), src_oprt.operator_impl_,
             static_cast<int>(index));
  return *this;
}
Operator& Operator::SetInput(uint32_t dst_index, const Operator& src_oprt, uint32_t src_index) {
  if (operator_impl_ == nullptr) return *this;
  if (operator_impl_->Input(dst_index) == nullptr) {
    operator_impl_->Note("it has no input " + std::to_string(dst_index));
    return *this;
  }
  SetInputOf(operator_impl_, static_cast<int>(dst_index), src_oprt.operator_impl_,
             static_cast<int>(src_index));
  return *this;
}

Operator& Operator::AddControlInput(const Operator& src_oprt) {
  if (operator_impl_ == nullptr) return *this;
  if (src_oprt.operator_impl_ == nullptr) {
    operator_impl_->Note("it is to run after an empty operator");
  } else {
    operator_impl_->Follow(src_oprt.operator_impl_);
  }
  return *this;
}

graphStatus Operator::GetInputConstData(const char_t* dst_name, Tensor& data) const {
  if (operator_impl_ == nullptr) return GRAPH_FAILED;
  return operator_impl_->ConstantInput(operator_impl_->InputNamed(TextOf(dst_name)), &data) ? GRAPH_SUCCESS
                                                                                            : GRAPH_FAILED;
}

void Operator::BreakConnect() const {
  if (operator_impl_ != nullptr) operator_impl_->BreakConnections();
}

// --- descriptions

TensorDesc Operator::GetInputDescByName(const char_t* name) const {
  return DescIn(InputBy(operator_impl_, name));
}
TensorDesc Operator::GetInputDesc(uint32_t index) const {
  return DescIn(operator_impl_ == nullptr ? nullptr : operator_impl_->Input(index));
}
graphStatus Operator::TryGetInputDesc(const char_t* name, TensorDesc& tensor_desc) const {
  return WithSlot(InputBy(operator_impl_, name), [&](Slot& slot) { tensor_desc = slot.desc; });
}
graphStatus Operator::UpdateInputDesc(const char_t* name, const TensorDesc& tensor_desc) {
  return Describe(InputBy(operator_impl_, name), tensor_desc);
}
TensorDesc Operator::GetOutputDescByName(const char_t* name) const {
  return DescIn(OutputBy(operator_impl_, name));
}
TensorDesc Operator::GetOutputDesc(uint32_t index) const {
  return DescIn(operator_impl_ == nullptr ? nullptr : operator_impl_->Output(index));
}
graphStatus Operator::UpdateOutputDesc(const char_t* name, const TensorDesc& tensor_desc) {
  return Describe(OutputBy(operator_impl_, name), tensor_desc);
}
size_t Operator::GetInputsSize() const {
  return operator_impl_ == nullptr ? 0 : operator_impl_->inputs.size();
}
size_t Operator::GetOutputsSize() const {
  return operator_impl_ == nullptr ? 0 : operator_impl_->outputs.size();
}

int32_t Operator::GetDynamicInputNum(const char_t* name) const {
  return operator_impl_ == nullptr ? 0 : operator_impl_->CountOf(operator_impl_->input_lists, TextOf(name));
}
int32_t Operator::GetDynamicOutputNum(const char_t* name) const {
  return operator_impl_ == nullptr ? 0 : operator_impl_->CountOf(operator_impl_->output_lists, TextOf(name));
}
TensorDesc Operator::GetDynamicInputDesc(const char_t* name, uint32_t index) const {
  return GetInputDescByName(Entry(name, index).c_str());
}
graphStatus Operator::UpdateDynamicInputDesc(const char_t* name, uint32_t index,
                                             const TensorDesc& tensor_desc) {
  return UpdateInputDesc(Entry(name, index).c_str(), tensor_desc);
}
TensorDesc Operator::GetDynamicOutputDesc(const char_t* name, uint32_t index) const {
  return GetOutputDescByName(Entry(name, index).c_str());
}
graphStatus Operator::UpdateDynamicOutputDesc(const char_t* name, uint32_t index,
                                              const TensorDesc& tensor_desc) {
  return UpdateOutputDesc(Entry(name, index).c_str(), tensor_desc);
}

void Operator::CreateDynamicInput(const char_t* name, uint32_t count) {
  if (operator_impl_ != nullptr) operator_impl_->ResizeInputs(TextOf(name), count);
}
void Operator::CreateDynamicOutput(const char_t* name, uint32_t count) {
  if (operator_impl_ != nullptr) operator_impl_->ResizeOutputs(TextOf(name), count);
}
void Operator::SetDynamicInput(const char_t* name, uint32_t index, const Operator& src_oprt,
                               const char_t* src_name) {
  std::string entry = Entry(name, index);
  if (src_name == nullptr) {
    SetInput(entry.c_str(), src_oprt);
  } else {
    SetInput(entry.c_str(), src_oprt, src_name);
  }
}

// --- types and attributes

graphStatus Operator::InferShapeAndType() {
  return belay::graph_interface::Guarded("InferShapeAndType", [this] {
    if (operator_impl_ == nullptr)
      belay::Fail(belay::graph_interface::kBadArgument, "ge-operator-empty", "the operator is empty");
    InferTypes(*operator_impl_);
  });
}

graphStatus Operator::VerifyAllAttr(bool) {
  if (operator_impl_ == nullptr || operator_impl_->schema == nullptr) return GRAPH_FAILED;
  for (const auto& row : operator_impl_->schema->attributes) {
    if (row.required && operator_impl_->attributes.count(row.name) == 0) return GRAPH_FAILED;
  }
  return GRAPH_SUCCESS;
}

graphStatus Operator::GetAllAttrNamesAndTypes(std::map<AscendString, AscendString>& attr_name_types) const {
  if (operator_impl_ == nullptr) return GRAPH_FAILED;
  for (const auto& [name, value] : operator_impl_->attributes)
    attr_name_types[AscendString(name.c_str())] = TypeNameOf(value);
  return GRAPH_SUCCESS;
}
graphStatus Operator::GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>& attr_name_types) const {
  if (operator_impl_ == nullptr || operator_impl_->schema == nullptr) return GRAPH_FAILED;
  for (const auto& row : operator_impl_->schema->attributes)
    attr_name_types[AscendString(row.name)] = TypeNameOf(row.kind);
  return GRAPH_SUCCESS;
}

// --- bodies

void Operator::SetSubgraphBuilder(const char_t* name, uint32_t index, const SubgraphBuilder& builder) {
  if (operator_impl_ != nullptr) operator_impl_->builders[{TextOf(name), index}] = builder;
}
size_t Operator::GetSubgraphNamesCount() const {
  return operator_impl_ == nullptr ? 0 : operator_impl_->builders.size();
}
graphStatus Operator::GetSubgraphNames(std::vector<AscendString>& names) const {
  if (operator_impl_ == nullptr) return GRAPH_FAILED;
  for (const auto& [key, builder] : operator_impl_->builders) names.emplace_back(key.first.c_str());
  return GRAPH_SUCCESS;
}
SubgraphBuilder Operator::GetSubgraphBuilder(const char_t* name) const {
  return GetDynamicSubgraphBuilder(name, 0);
}
SubgraphBuilder Operator::GetDynamicSubgraphBuilder(const char_t* name, uint32_t index) const {
  if (operator_impl_ == nullptr) return nullptr;
  auto it = operator_impl_->builders.find({TextOf(name), index});
  return it == operator_impl_->builders.end() ? nullptr : it->second;
}
Graph Operator::GetSubgraph(const char_t* name) const { return GetDynamicSubgraph(name, 0); }
Graph Operator::GetDynamicSubgraph(const char_t* name, uint32_t index) const {
  SubgraphBuilder builder = GetDynamicSubgraphBuilder(name, index);
  return builder ? builder() : Graph();
}

}  // namespace ge
