// Graphs as programs fill them.
#include "graph/graph.h"

#include <cstring>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/graph_impl.h"
#include "ge/guard.h"
#include "graph/om/format.h"
#include "graph/om/om.h"

namespace ge {
namespace {

using belay::Fail;
using namespace belay::graph_interface;  // NOLINT

NodePtr Need(const Operator& op) {
  const NodePtr& node = OperatorImpl::Of(op);
  if (node == nullptr)
    Fail(kBadArgument, "ge-operator-empty", "an operator that the graph is given is empty");
  return node;
}

std::vector<NodePtr> NeedAll(const std::vector<Operator>& operators) {
  std::vector<NodePtr> nodes;
  for (const Operator& op : operators) nodes.push_back(Need(op));
  return nodes;
}

OutputPick Pick(const NodePtr& node, size_t output) {
  if (node->Output(static_cast<int64_t>(output)) == nullptr) {
    Fail(kBadArgument, "ge-graph-output", "operator '{}' ({}) has no output {}", node->name, node->type,
         output);
  }
  return {node, output, node->name + ":" + std::to_string(output)};
}

NodePtr NeedNode(const GNode& gnode) {
  NodePtr node = NodeImpl::Of(gnode);
  if (node == nullptr) Fail(kBadArgument, "ge-operator-empty", "a node that the graph is given is empty");
  return node;
}

std::string NeedText(const char_t* text, const char* what) {
  if (text == nullptr) Fail(kBadArgument, "ge-null", "{} is null", what);
  return text;
}

void Collect(const GraphImpl& graph, bool with_bodies, std::vector<GNode>* nodes) {
  for (const NodePtr& node : graph.Nodes()) {
    nodes->push_back(NodeImpl::Facade(node));
    if (!with_bodies) continue;
    for (const auto& [key, body] : node->Bodies()) {
      GraphImpl inner(key);
      inner.Adopt(*body);
      Collect(inner, true, nodes);
    }
  }
}

// For functions without a status: what goes wrong is told when the graph is built, too.
template <class Body>
void Setting(Graph& facade, const Function& function, Body&& body) {
  Guarded(function, [&] {
    GraphImpl& graph = GraphImpl::Of(facade);
    const char* before = std::exchange(graph.out_of_memory_in, function.name);  // until it is known better
    if (before != nullptr && std::strcmp(before, function.name) == 0) before = nullptr;
    const char* name = function.name + std::strlen("Graph::");
    try {
      body(graph);
      graph.problems.erase(name);
    } catch (const belay::Error& error) {
      graph.problems[name] = error.sentence();
      graph.out_of_memory_in = before;
      throw;
    }
    graph.out_of_memory_in = before;
  });
}

}  // namespace

Graph::Graph(const char_t* name) : impl_(std::make_shared<GraphImpl>(name == nullptr ? "" : name)) {}

Graph& Graph::SetInputs(const std::vector<Operator>& inputs) {
  Setting(*this, "Graph::SetInputs", [&](GraphImpl& graph) { graph.SetInputs(NeedAll(inputs)); });
  return *this;
}

Graph& Graph::SetOutputs(const std::vector<Operator>& outputs) {
  Setting(*this, "Graph::SetOutputs", [&](GraphImpl& graph) {
    std::vector<OutputPick> picks;
    for (const NodePtr& node : NeedAll(outputs)) {
      for (size_t i = 0; i < node->outputs.size(); ++i) picks.push_back(Pick(node, i));
    }
    graph.SetOutputs(std::move(picks));
  });
  return *this;
}

Graph& Graph::SetOutputs(const std::vector<std::pair<Operator, std::vector<size_t>>>& output_indexs) {
  Setting(*this, "Graph::SetOutputs", [&](GraphImpl& graph) {
    std::vector<OutputPick> picks;
    for (const auto& [op, indexes] : output_indexs) {
      NodePtr node = Need(op);
      for (size_t i = 0; indexes.empty() && i < node->outputs.size(); ++i) picks.push_back(Pick(node, i));
      for (size_t index : indexes) picks.push_back(Pick(node, index));
    }
    graph.SetOutputs(std::move(picks));
  });
  return *this;
}

Graph& Graph::SetOutputs(const std::vector<std::pair<Operator, AscendString>>& outputs) {
  Setting(*this, "Graph::SetOutputs", [&](GraphImpl& graph) {
    std::vector<OutputPick> picks;
    for (const auto& [op, output] : outputs) {
      NodePtr node = Need(op);
      int index = output.GetLength() == 0 ? 0 : node->OutputNamed(output.GetString());
      picks.push_back(Pick(node, static_cast<size_t>(index)));
    }
    graph.SetOutputs(std::move(picks));
  });
  return *this;
}

Graph& Graph::SetTargets(const std::vector<Operator>& targets) {
  Setting(*this, "Graph::SetTargets", [&](GraphImpl& graph) { graph.SetTargets(NeedAll(targets)); });
  return *this;
}

bool Graph::IsValid() const { return impl_ != nullptr && !impl_->empty(); }

graphStatus Graph::AddOp(const Operator& op) {
  return Guarded("Graph::AddOp", [&] {
    NodePtr node = Need(op);
    NodePtr other = GraphImpl::Of(*this).NodeNamed(node->name);
    if (other != nullptr)
      Fail(kBadArgument, "ge-operator-twice", "the graph has an operator '{}' ({}) already", node->name,
           other->type);
    impl_->Add(std::move(node));
  });
}

graphStatus Graph::FindOpByName(const char_t* name, Operator& op) const {
  if (impl_ == nullptr || name == nullptr) return GRAPH_FAILED;
  NodePtr node = impl_->NodeNamed(name);
  if (node == nullptr) return GRAPH_FAILED;
  op = OperatorImpl::Facade(std::move(node));
  return GRAPH_SUCCESS;
}
graphStatus Graph::FindOpByType(const char_t* type, std::vector<Operator>& ops) const {
  if (impl_ == nullptr || type == nullptr) return GRAPH_FAILED;
  ops.clear();
  for (const NodePtr& node : impl_->Nodes()) {
    if (node->type == type) ops.push_back(OperatorImpl::Facade(node));
  }
  return GRAPH_SUCCESS;
}
graphStatus Graph::GetAllOpName(std::vector<AscendString>& names) const {
  if (impl_ == nullptr) return GRAPH_FAILED;
  for (const NodePtr& node : impl_->Nodes()) names.emplace_back(node->name.c_str());
  return GRAPH_SUCCESS;
}

// --- files

graphStatus Graph::SaveToFile(const char_t* file_name) const {
  return Guarded("Graph::SaveToFile", [&] {
    auto bytes = belay::graph::WriteModel({GraphImpl::Of(*this).Lower(), {}, {}});
    belay::graph::SaveModel(NeedText(file_name, "file_name"), bytes.data.get(), bytes.size);
  });
}
graphStatus Graph::LoadFromFile(const char_t* file_name) {
  return Guarded("Graph::LoadFromFile", [&] {
    GraphImpl::Of(*this).Adopt(belay::graph::ReadModelFile(NeedText(file_name, "file_name")).graph);
  });
}
graphStatus Graph::LoadFromSerializedModelArray(const void* serialized_model, size_t size) {
  return Guarded("Graph::LoadFromSerializedModelArray", [&] {
    if (serialized_model == nullptr) Fail(kBadArgument, "ge-null", "serialized_model is null");
    if (size < sizeof belay::graph::om::kMagic ||
        std::memcmp(serialized_model, belay::graph::om::kMagic, sizeof belay::graph::om::kMagic) != 0) {
      Fail(
          kNotSupported, "ge-serialized-graph",
          "these {} bytes are no graph of Belay's; the protobuf messages that other tools make of graphs are not read",
          size);
    }
    GraphImpl::Of(*this).Adopt(belay::graph::ReadModelCopy(serialized_model, size).graph);
  });
}

graphStatus Graph::GetName(AscendString& name) const {
  if (impl_ == nullptr) return GRAPH_FAILED;
  name = AscendString(impl_->name.c_str());
  return GRAPH_SUCCESS;
}
// Training loops are steered by the program here; there is nothing to switch.
void Graph::SetNeedIteration(bool) {}

// --- nodes

std::vector<GNode> Graph::GetAllNodes() const {
  std::vector<GNode> nodes;
  Guarded("Graph::GetAllNodes", [&] { Collect(GraphImpl::Of(*this), true, &nodes); });
  return nodes;
}
std::vector<GNode> Graph::GetDirectNode() const {
  std::vector<GNode> nodes;
  Guarded("Graph::GetDirectNode", [&] { Collect(GraphImpl::Of(*this), false, &nodes); });
  return nodes;
}

graphStatus Graph::RemoveNode(GNode& node) { return RemoveNode(node, false); }
graphStatus Graph::RemoveNode(GNode& node, bool) {
  return Guarded("Graph::RemoveNode", [&] { GraphImpl::Of(*this).Remove(NeedNode(node)); });
}

graphStatus Graph::RemoveEdge(GNode& src_node, const int32_t src_port_index, GNode& dst_node,
                              const int32_t dst_port_index) {
  return Guarded("Graph::RemoveEdge", [&] {
    NodePtr from = NeedNode(src_node), to = NeedNode(dst_node);
    if (src_port_index < 0 || dst_port_index < 0) {
      if (std::erase(to->after, from) != 0) return;
    } else if (InputSlot* slot = to->Input(dst_port_index);
               slot != nullptr && slot->source == from && slot->output == src_port_index) {
      return to->Disconnect(dst_port_index);
    }
    Fail(kBadArgument, "ge-graph-edge", "there is no edge from output {} of '{}' to input {} of '{}'",
         src_port_index, from->name, dst_port_index, to->name);
  });
}

GNode Graph::AddNodeByOp(const Operator& op) {
  return GuardedValue("Graph::AddNodeByOp", GNode(), [&] {
    NodePtr node = Need(op);
    GraphImpl::Of(*this).Add(node);
    return NodeImpl::Facade(std::move(node));
  });
}

graphStatus Graph::AddDataEdge(GNode& src_node, const int32_t src_port_index, GNode& dst_node,
                               const int32_t dst_port_index) {
  return Guarded("Graph::AddDataEdge", [&] {
    NodePtr from = NeedNode(src_node), to = NeedNode(dst_node);
    InputSlot* slot = to->Input(dst_port_index);
    if (from->Output(src_port_index) == nullptr || slot == nullptr || slot->source != nullptr) {
      Fail(kBadArgument, "ge-graph-edge", "output {} of '{}' cannot be connected to input {} of '{}': {}",
           src_port_index, from->name, dst_port_index, to->name,
           slot != nullptr && slot->source != nullptr ? "that input is connected" : "there is no such port");
    }
    to->Connect(dst_port_index, from, src_port_index);
  });
}
graphStatus Graph::AddControlEdge(GNode& src_node, GNode& dst_node) {
  return Guarded("Graph::AddControlEdge", [&] { NeedNode(dst_node)->Follow(NeedNode(src_node)); });
}

graphStatus Graph::CopyFrom(const Graph& src_graph) {
  return Guarded("Graph::CopyFrom", [&] {
    const GraphImpl& from = GraphImpl::Of(src_graph);
    belay::graph::Graph copy = from.Lower();
    auto fresh = std::make_shared<GraphImpl>(from.name);
    fresh->Adopt(std::move(copy));
    impl_ = std::move(fresh);
  });
}

GraphPtr Graph::ConstructFromInputs(const std::vector<Operator>& inputs, const AscendString& name) {
  if (inputs.empty()) return nullptr;
  auto graph = std::make_shared<Graph>(name.GetString());
  graph->SetInputs(inputs);
  return graph;
}

}  // namespace ge
