// Nodes as programs look at them.
#include "graph/gnode.h"

#include <algorithm>

#include "ge/graph_impl.h"

namespace ge {
namespace {

graphStatus StatusOf(bool done) { return done ? GRAPH_SUCCESS : GRAPH_FAILED; }

GNodePtr Shared(const NodePtr& node) { return std::make_shared<GNode>(NodeImpl::Facade(node)); }

template <class F>
graphStatus With(Slot* slot, F use) {
  if (slot != nullptr) use(*slot);
  return StatusOf(slot != nullptr);
}

template <class T>
graphStatus AttributeOf(const NodePtr& node, const AscendString& name, T* value) {
  if (node == nullptr) return GRAPH_FAILED;
  auto it = node->attributes.find(std::string_view(name.GetString()));
  if (it != node->attributes.end()) return StatusOf(Get(it->second, value));
  const auto* schema = node->SchemaOf(name.GetString());
  return StatusOf(schema != nullptr && Get(FallbackOf(*schema), value));
}

template <class T>
graphStatus SetOf(const NodePtr& node, const AscendString& name, const T& value) {
  if (node != nullptr) Put(node->attributes[name.GetString()], value);
  return StatusOf(node != nullptr);
}

GraphPtr SharedGraph(const std::string& name, const belay::graph::Graph& body) {
  auto graph = std::make_shared<Graph>(name.c_str());
  GraphImpl::Of(*graph).Adopt(body);
  return graph;
}

}  // namespace

GNode::GNode() : impl_(std::make_shared<NodeImpl>()) {}

graphStatus GNode::GetType(AscendString& type) const {
  if (impl_->node != nullptr) type = AscendString(impl_->node->type.c_str());
  return StatusOf(impl_->node != nullptr);
}
graphStatus GNode::GetName(AscendString& name) const {
  if (impl_->node != nullptr) name = AscendString(impl_->node->name.c_str());
  return StatusOf(impl_->node != nullptr);
}

std::pair<GNodePtr, int32_t> GNode::GetInDataNodesAndPortIndexs(const int32_t index) const {
  const InputSlot* slot = impl_->node == nullptr ? nullptr : impl_->node->Input(index);
  if (slot == nullptr || slot->source == nullptr) return {nullptr, -1};
  return {Shared(slot->source), slot->output};
}

std::vector<GNodePtr> GNode::GetInControlNodes() const {
  std::vector<GNodePtr> nodes;
  if (impl_->node == nullptr) return nodes;
  for (const NodePtr& before : impl_->node->after) nodes.push_back(Shared(before));
  return nodes;
}

std::vector<std::pair<GNodePtr, int32_t>> GNode::GetOutDataNodesAndPortIndexs(const int32_t index) const {
  std::vector<std::pair<GNodePtr, int32_t>> readers;
  if (impl_->node == nullptr) return readers;
  for (const NodePtr& user : impl_->node->Users()) {
    for (size_t i = 0; i < user->inputs.size(); ++i) {
      const InputSlot& slot = user->inputs[i];
      if (slot.source == impl_->node && slot.output == index)
        readers.emplace_back(Shared(user), static_cast<int32_t>(i));
    }
  }
  return readers;
}

std::vector<GNodePtr> GNode::GetOutControlNodes() const {
  std::vector<GNodePtr> nodes;
  if (impl_->node == nullptr) return nodes;
  for (const NodePtr& user : impl_->node->Users()) {
    if (std::find(user->after.begin(), user->after.end(), impl_->node) != user->after.end())
      nodes.push_back(Shared(user));
  }
  return nodes;
}

graphStatus GNode::GetInputConstData(const int32_t index, Tensor& data) const {
  if (impl_->node == nullptr || impl_->node->Input(index) == nullptr) return GRAPH_FAILED;
  return impl_->node->ConstantInput(index, &data) ? GRAPH_SUCCESS : GRAPH_NODE_WITHOUT_CONST_INPUT;
}

graphStatus GNode::GetInputIndexByName(const AscendString& name, int32_t& index) {
  int found = impl_->node == nullptr ? -1 : impl_->node->InputNamed(name.GetString());
  if (found >= 0) index = found;
  return StatusOf(found >= 0);
}
graphStatus GNode::GetOutputIndexByName(const AscendString& name, int32_t& index) {
  int found = impl_->node == nullptr ? -1 : impl_->node->OutputNamed(name.GetString());
  if (found >= 0) index = found;
  return StatusOf(found >= 0);
}
size_t GNode::GetInputsSize() const { return impl_->node == nullptr ? 0 : impl_->node->inputs.size(); }
size_t GNode::GetOutputsSize() const { return impl_->node == nullptr ? 0 : impl_->node->outputs.size(); }

graphStatus GNode::GetInputDesc(const int32_t index, TensorDesc& tensor_desc) const {
  return With(impl_->node == nullptr ? nullptr : impl_->node->Input(index),
              [&](Slot& slot) { tensor_desc = slot.desc; });
}
graphStatus GNode::GetOutputDesc(const int32_t index, TensorDesc& tensor_desc) const {
  return With(impl_->node == nullptr ? nullptr : impl_->node->Output(index),
              [&](Slot& slot) { tensor_desc = slot.desc; });
}
graphStatus GNode::UpdateInputDesc(const int32_t index, const TensorDesc& tensor_desc) {
  return With(impl_->node == nullptr ? nullptr : impl_->node->Input(index), [&](Slot& slot) {
    slot.desc = tensor_desc;
    slot.described = true;
  });
}
graphStatus GNode::UpdateOutputDesc(const int32_t index, const TensorDesc& tensor_desc) {
  return With(impl_->node == nullptr ? nullptr : impl_->node->Output(index), [&](Slot& slot) {
    slot.desc = tensor_desc;
    slot.described = true;
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): types cannot stand in parentheses
#define BOTH(T)                                                      \
  graphStatus GNode::GetAttr(const AscendString& name, T& v) const { \
    return AttributeOf(impl_->node, name, &v);                       \
  }                                                                  \
  graphStatus GNode::SetAttr(const AscendString& name, T& v) const { return SetOf<T>(impl_->node, name, v); }
BOTH(int64_t)
BOTH(int32_t)
BOTH(uint32_t)
BOTH(float32_t)
BOTH(AscendString)
BOTH(bool)
BOTH(Tensor)
BOTH(std::vector<int64_t>)
BOTH(std::vector<int32_t>)
BOTH(std::vector<uint32_t>)
BOTH(std::vector<float32_t>)
BOTH(std::vector<AscendString>)
BOTH(std::vector<bool>)
BOTH(std::vector<Tensor>)
BOTH(OpBytes)
BOTH(std::vector<std::vector<int64_t>>)
BOTH(std::vector<DataType>)
BOTH(DataType)
BOTH(AttrValue)
#undef BOTH
// NOLINTEND(bugprone-macro-parentheses)

bool GNode::HasAttr(const AscendString& name) {
  return impl_->node != nullptr && impl_->node->attributes.count(name.GetString()) != 0;
}

graphStatus GNode::GetSubgraph(uint32_t index, GraphPtr& graph) const {
  std::vector<GraphPtr> graphs;
  if (GetALLSubgraphs(graphs) != GRAPH_SUCCESS || index >= graphs.size()) return GRAPH_FAILED;
  graph = graphs[index];
  return GRAPH_SUCCESS;
}
graphStatus GNode::GetALLSubgraphs(std::vector<GraphPtr>& graph_list) const {
  if (impl_->node == nullptr) return GRAPH_FAILED;
  for (const auto& [name, body] : impl_->node->Bodies()) graph_list.push_back(SharedGraph(name, *body));
  return GRAPH_SUCCESS;
}

}  // namespace ge
