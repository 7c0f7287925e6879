#include "ge/graph_impl.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/kept_names.h"
#include "ge/tensor_impl.h"
#include "graph/size_range.h"

namespace ge {
namespace {

using belay::Fail;
using belay::graph::PortKind;
using belay::graph_interface::kBadArgument;
using belay::graph_interface::kHostMemory;
namespace ir = belay::graph;

// Nodes in the order in which they were found.
class Closure {
 public:
  void Add(const NodePtr& node) {
    if (node != nullptr && seen_.insert(node.get()).second) nodes_.push_back(node);
  }
  // Everything that what is there needs; with what depends on it too when `downstream`.
  std::vector<NodePtr> Complete(bool downstream) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      NodePtr node = nodes_[i];
      for (const InputSlot& slot : node->inputs) Add(slot.source);
      for (const NodePtr& before : node->after) Add(before);
      if (!downstream) continue;
      for (const NodePtr& user : node->Users()) Add(user);
    }
    return std::move(nodes_);
  }

 private:
  std::vector<NodePtr> nodes_;
  std::unordered_set<const OperatorImpl*> seen_;
};

int64_t IndexOf(const OperatorImpl& node) {
  int64_t index = 0;
  auto it = node.attributes.find("index");
  if (it != node.attributes.end()) Get(it->second, &index);
  return index;
}

// The order of the call is that of SetInputs, unless the `index` attributes number the inputs.
std::vector<NodePtr> InOrder(std::vector<NodePtr> inputs) {
  std::vector<int64_t> numbers;
  for (const NodePtr& node : inputs) numbers.push_back(IndexOf(*node));
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != static_cast<int64_t>(i)) return inputs;
  }
  std::sort(inputs.begin(), inputs.end(),
            [](const NodePtr& a, const NodePtr& b) { return IndexOf(*a) < IndexOf(*b); });
  return inputs;
}

const TensorDesc& InputDescOf(const OperatorImpl& node) {
  if (!node.outputs.empty() && node.outputs[0].described) return node.outputs[0].desc;
  if (!node.inputs.empty() && node.inputs[0].described) return node.inputs[0].desc;
  Fail(kBadArgument, "ge-data-type",
       "nothing says what the input '{}' is; call update_input_desc_x and update_output_desc_y on it",
       node.name);
}

// Those of SetShapeRange, for the sizes that are open.
void AddRanges(const TensorDesc& desc, ir::Node& input) {
  std::vector<std::pair<int64_t, int64_t>> given;
  desc.GetShapeRange(given);
  if (given.empty() || !input.types[0].rank_known) return;
  ir::SizeRanges ranges = SizeRangesOf(input);
  if (given.size() != ranges.size()) {
    Fail(kBadArgument, "ge-shape-range", "the input '{}' has {} sizes, but SetShapeRange gave {} ranges",
         input.name, ranges.size(), given.size());
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto [least, most] = given[i];
    if (least < 0 || (most >= 0 && least > most)) {
      Fail(kBadArgument, "ge-shape-range",
           "SetShapeRange gave input '{}' {} to {} for size {}; that is no range", input.name, least, most,
           i);
    }
    if (!ranges[i].fixed()) ranges[i] = {least, std::max<int64_t>(most, ir::kUnknownDim)};
  }
  SetSizeRanges(input, ranges);
}

class Lowering {
 public:
  explicit Lowering(std::string name) { graph_.name = std::move(name); }

  void AddInput(const NodePtr& node) {
    Check(*node);
    const TensorDesc& desc = InputDescOf(*node);
    int input = graph_.AddInput(node->name, ValueTypeOf(desc));
    AddRanges(desc, graph_.nodes[static_cast<size_t>(input)]);
    numbers_[node.get()] = input;
  }
  void AddNode(const NodePtr& node) {
    Check(*node);
    ir::Node lowered = LoweredNode(*node);
    if (lowered.type == ir::kConstType && ir::ConstantOf(lowered) == nullptr)
      Fail(kBadArgument, "ge-constant-empty", "'{}' is a constant without a value", node->name);
    numbers_[node.get()] = graph_.Add(std::move(lowered));
  }
  void Connect(const NodePtr& node) {
    ir::Node& to = graph_.nodes[static_cast<size_t>(Number(node))];
    if (node->IsData()) return;
    for (const InputSlot& slot : node->inputs) to.inputs.push_back(PortOf(slot.source, slot.output));
    while (!to.inputs.empty() && !to.inputs.back().present()) to.inputs.pop_back();
    for (const NodePtr& before : node->after) to.after.push_back(Number(before));
  }
  void AddOutput(const OutputPick& pick) {
    graph_.outputs.push_back({PortOf(pick.node, static_cast<int>(pick.output)), pick.name});
  }
  ir::Graph Take() { return std::move(graph_); }

 private:
  static void Check(const OperatorImpl& node) {
    if (node.problem.empty()) return;
    Fail(kBadArgument, "ge-operator-wiring", "operator '{}' ({}): {}", node.name, node.type, node.problem);
  }
  int Number(const NodePtr& node) const {
    auto it = numbers_.find(node.get());
    if (it != numbers_.end()) return it->second;
    Fail(kBadArgument, "ge-graph-inputs",
         "'{}' ({}) is needed by the graph, but it is not among the inputs of SetInputs", node->name,
         node->type);
  }
  ir::Port PortOf(const NodePtr& node, int output) const {
    return node == nullptr ? ir::Port{} : ir::Port{Number(node), output};
  }

  ir::Graph graph_;
  std::unordered_map<const OperatorImpl*, int> numbers_;
};

// What nobody reads, in order.
std::vector<OutputPick> LeavesOf(const std::vector<NodePtr>& nodes) {
  std::vector<OutputPick> leaves;
  for (const NodePtr& node : nodes) {
    if (node->IsData() || !node->Users().empty()) continue;
    for (size_t i = 0; i < node->outputs.size(); ++i)
      leaves.push_back({node, i, node->name + ":" + std::to_string(i)});
  }
  return leaves;
}

// --- from a graph that was read

uint32_t ListLength(std::span<const ir::PortSchema> ports, size_t total) {
  size_t fixed = 0;
  for (const auto& port : ports) fixed += port.kind != PortKind::kDynamic;
  return static_cast<uint32_t>(total > fixed ? total - fixed : 0);
}

NodePtr RaisedNode(const ir::Node& from) {
  NodePtr node = OperatorImpl::Make(from.name, from.type);
  if (node->schema != nullptr) {
    for (const auto& port : node->schema->inputs) {
      if (port.kind == PortKind::kDynamic)
        node->ResizeInputs(port.name, ListLength(node->schema->inputs, from.inputs.size()));
    }
    for (const auto& port : node->schema->outputs) {
      if (port.kind == PortKind::kDynamic)
        node->ResizeOutputs(port.name, ListLength(node->schema->outputs, static_cast<size_t>(from.outputs)));
    }
  }
  while (node->inputs.size() < from.inputs.size())
    node->inputs.emplace_back().name = "x" + std::to_string(node->inputs.size());
  while (node->outputs.size() < static_cast<size_t>(from.outputs))
    node->outputs.emplace_back().name = "y" + std::to_string(node->outputs.size());
  for (const auto& [key, value] : from.attributes) node->attributes[key] = Raised(value);
  for (size_t i = 0; i < from.types.size() && i < node->outputs.size(); ++i) {
    if (from.types[i].dtype == ir::DType::kUndefined) continue;
    node->outputs[i].desc = DescOf(from.types[i]);
    node->outputs[i].described = true;
  }
  if (node->IsData() && !from.types.empty() && ir::HasBounds(from)) {
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (const ir::SizeRange& range : ir::SizeRangesOf(from)) ranges.emplace_back(range.least, range.most);
    node->outputs[0].desc.SetShapeRange(ranges);
  }
  return node;
}

void ConnectRaised(const ir::Graph& graph, const std::vector<NodePtr>& nodes) {
  for (size_t n = 0; n < nodes.size(); ++n) {
    const ir::Node& from = graph.nodes[n];
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      if (from.inputs[i].present())
        nodes[n]->Connect(static_cast<int>(i), nodes[static_cast<size_t>(from.inputs[i].node)],
                          from.inputs[i].output);
    }
    for (int before : from.after) nodes[n]->Follow(nodes[static_cast<size_t>(before)]);
  }
}

}  // namespace

ir::Node LoweredNode(OperatorImpl& node) {
  ir::Node lowered{.name = node.name, .type = node.type};
  lowered.outputs = static_cast<int>(node.outputs.size());
  for (const auto& [key, value] : node.attributes) {
    if (std::holds_alternative<std::monostate>(value)) continue;
    lowered.attributes[key] =
        Lowered(value, node.SchemaOf(key), "attribute '" + key + "' of '" + node.name + "'");
  }
  for (auto& [key, body] : node.Bodies()) lowered.attributes[key] = body;
  return lowered;
}

GNode NodeImpl::Facade(NodePtr node) {
  GNode facade;
  facade.impl_->node = std::move(node);
  return facade;
}

GraphImpl& GraphImpl::Of(Graph& graph) {
  if (graph.impl_ == nullptr) graph.impl_ = std::make_shared<GraphImpl>("");
  return *graph.impl_;
}

const GraphImpl& GraphImpl::Of(const Graph& graph) {
  if (graph.impl_ == nullptr)
    Fail(kBadArgument, "ge-graph-empty", "the graph is empty; construct it with a name and fill it first");
  return *graph.impl_;
}

void GraphImpl::Adopt(ir::Graph read) {
  if (name.empty()) name = read.name;
  inputs_.clear();
  nodes_.clear();
  targets_.clear();
  outputs_.clear();
  read_ = std::make_shared<const ir::Graph>(std::move(read));
}

void GraphImpl::Expand() const {
  if (read_ == nullptr) return;
  std::shared_ptr<const ir::Graph> read = std::move(read_);
  read_ = nullptr;
  for (const ir::Node& node : read->nodes) nodes_.push_back(RaisedNode(node));
  ConnectRaised(*read, nodes_);
  for (int input : read->inputs) inputs_.push_back(nodes_[static_cast<size_t>(input)]);
  for (const auto& output : read->outputs) {
    outputs_.push_back({nodes_[static_cast<size_t>(output.port.node)],
                        static_cast<size_t>(output.port.output), output.name});
  }
}

ir::Graph GraphImpl::Lower() const {
  if (out_of_memory_in != nullptr) {
    Fail(kHostMemory, "out-of-memory", "host memory ran out in {} of graph '{}'; call it again",
         out_of_memory_in, name);
  }
  for (const auto& [function, problem] : problems)
    Fail(kBadArgument, "ge-graph-refused", "{} of graph '{}' failed: {}", function, name, problem);
  if (read_ != nullptr) return *read_;
  std::vector<NodePtr> nodes = Nodes(), inputs = inputs_;
  if (nodes.empty()) Fail(kBadArgument, "ge-graph-empty", "graph '{}' has no operator", name);
  if (inputs.empty()) {
    std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(inputs),
                 [](const NodePtr& node) { return node->IsData(); });
  }
  Lowering lowering(name);
  std::unordered_set<const OperatorImpl*> is_input;
  for (const NodePtr& input : InOrder(inputs)) {
    if (is_input.insert(input.get()).second) lowering.AddInput(input);
  }
  std::erase_if(nodes, [&](const NodePtr& node) {
    return is_input.count(node.get()) == 0 && node->IsData() && node->Users().empty();
  });
  for (const NodePtr& node : nodes) {
    if (is_input.count(node.get()) == 0 && !node->IsData()) lowering.AddNode(node);
  }
  for (const NodePtr& node : nodes) lowering.Connect(node);
  for (const OutputPick& pick : outputs_.empty() ? LeavesOf(nodes) : outputs_) lowering.AddOutput(pick);
  ir::Graph graph = lowering.Take();
  SortNodes(graph);
  return graph;
}

void GraphImpl::SetInputs(std::vector<NodePtr> inputs) {
  Expand();
  inputs_ = std::move(inputs);
  // The program's own operators may go out of scope before the outputs are named.
  Closure closure;
  for (const NodePtr& node : inputs_) closure.Add(node);
  nodes_ = closure.Complete(true);
}

void GraphImpl::SetOutputs(std::vector<OutputPick> outputs) {
  Expand();
  outputs_ = std::move(outputs);
}
void GraphImpl::SetTargets(std::vector<NodePtr> targets) {
  Expand();
  targets_ = std::move(targets);
}
void GraphImpl::Add(NodePtr node) {
  Expand();
  nodes_.push_back(std::move(node));
}

void GraphImpl::Remove(const NodePtr& node) {
  Expand();
  node->BreakConnections();
  std::erase(inputs_, node);
  std::erase(nodes_, node);
  std::erase(targets_, node);
  std::erase_if(outputs_, [&](const OutputPick& pick) { return pick.node == node; });
}

std::vector<NodePtr> GraphImpl::Nodes() const {
  Expand();
  Closure closure;
  for (const NodePtr& node : inputs_) closure.Add(node);
  for (const NodePtr& node : nodes_) closure.Add(node);
  for (const NodePtr& node : targets_) closure.Add(node);
  for (const OutputPick& pick : outputs_) closure.Add(pick.node);
  return closure.Complete(outputs_.empty());
}

NodePtr GraphImpl::NodeNamed(const std::string& node_name) const {
  for (const NodePtr& node : Nodes()) {
    if (node->name == node_name) return node;
  }
  return nullptr;
}

bool GraphImpl::empty() const {
  return read_ == nullptr && inputs_.empty() && nodes_.empty() && outputs_.empty() && targets_.empty();
}

std::shared_ptr<void>& KeptName(const Graph& graph, int abi) { return GraphImpl::Of(graph).kept_names[abi]; }

}  // namespace ge
