#include "graph/ir.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "graph/codes.h"

namespace belay::graph {
namespace {

// Renumbers ports after nodes have moved; -1: the node is gone.
void Renumber(Graph& graph, const std::vector<int>& place) {
  auto moved = [&](int node) { return node < 0 ? node : place[static_cast<size_t>(node)]; };
  for (Node& node : graph.nodes) {
    for (Port& port : node.inputs) port.node = moved(port.node);
    for (int& before : node.after) before = moved(before);
    std::erase(node.after, -1);
  }
  for (int& input : graph.inputs) input = moved(input);
  for (GraphOutput& output : graph.outputs) output.port.node = moved(output.port.node);
}

void CheckPort(const Graph& graph, const Port& port, const std::string& user) {
  if (!port.present()) return;
  if (static_cast<size_t>(port.node) >= graph.nodes.size() || port.output < 0 ||
      port.output >= graph.nodes[static_cast<size_t>(port.node)].outputs) {
    Fail(kGraphInvalid, "graph-input-missing", "{} reads output {} of node {}, which does not exist", user,
         port.output, port.node);
  }
}

class Sorter {
 public:
  explicit Sorter(const Graph& graph) : graph_(graph), state_(graph.nodes.size(), kNew) {}

  // Without recursion: a chain may be a hundred thousand nodes long.
  void Visit(int root) {
    stack_.push_back({root, 0});
    while (!stack_.empty()) {
      auto& [number, next] = stack_.back();
      const Node& node = graph_.nodes[static_cast<size_t>(number)];
      State& state = state_[static_cast<size_t>(number)];
      if (state == kDone) {
        stack_.pop_back();
        continue;
      }
      state = kOpen;
      size_t needs = node.inputs.size() + node.after.size();
      if (next == needs) {
        state = kDone;
        order_.push_back(number);
        stack_.pop_back();
        continue;
      }
      size_t i = next++;
      int before = i < node.inputs.size() ? node.inputs[i].node : node.after[i - node.inputs.size()];
      if (before < 0 || state_[static_cast<size_t>(before)] == kDone) continue;
      if (state_[static_cast<size_t>(before)] == kOpen) {
        Fail(kGraphInvalid, "graph-cycle", "node '{}' ({}) needs its own result: the graph has a cycle",
             node.name, node.type);
      }
      stack_.push_back({before, 0});
    }
  }

  const std::vector<int>& order() const { return order_; }

 private:
  enum State : uint8_t { kNew, kOpen, kDone };
  const Graph& graph_;
  std::vector<State> state_;
  std::vector<std::pair<int, size_t>> stack_;
  std::vector<int> order_;
};

// The nodes of `order` become the graph's.
void Rebuild(Graph& graph, const std::vector<int>& order) {
  std::vector<int> place(graph.nodes.size(), -1);
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (int number : order) {
    place[static_cast<size_t>(number)] = static_cast<int>(nodes.size());
    nodes.push_back(std::move(graph.nodes[static_cast<size_t>(number)]));
  }
  graph.nodes = std::move(nodes);
  Renumber(graph, place);
}

}  // namespace

bool ValueType::concrete() const {
  return rank_known && dtype != DType::kUndefined &&
         std::none_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
}

std::string ValueType::ToString() const {
  std::string text = tensor::NameOf(dtype);
  if (!rank_known) return text + " [...]";
  text += " [";
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != 0) text += ", ";
    text += shape[i] < 0 ? "?" : std::to_string(shape[i]);
  }
  return text + "]";
}

int Graph::Add(Node node) {
  if (node.types.size() < static_cast<size_t>(node.outputs))
    node.types.resize(static_cast<size_t>(node.outputs));
  nodes.push_back(std::move(node));
  return static_cast<int>(nodes.size()) - 1;
}

int Graph::FindInput(std::string_view wanted) const {
  auto is_it = [&](int node) { return nodes[static_cast<size_t>(node)].name == wanted; };
  auto it = std::find_if(inputs.begin(), inputs.end(), is_it);
  return it == inputs.end() ? -1 : static_cast<int>(it - inputs.begin());
}

int Graph::AddInput(std::string input_name, const ValueType& type) {
  Node node{.name = std::move(input_name), .type = std::string(kDataType)};
  node.types = {type};
  node.attributes["index"] = static_cast<int64_t>(inputs.size());
  inputs.push_back(Add(std::move(node)));
  return inputs.back();
}

Port Graph::AddConstant(std::string constant_name, Constant value) {
  Node node{.name = std::move(constant_name), .type = std::string(kConstType)};
  node.types = {{value->dtype(), Format::kND, true, value->shape()}};
  node.attributes["value"] = std::move(value);
  return {Add(std::move(node)), 0};
}

Constant ConstantOf(const Node& node) {
  if (node.type != kConstType && node.type != "Constant") return nullptr;
  const Constant* value = FindAttribute<Constant>(node, "value");
  return value == nullptr ? nullptr : *value;
}

void SortNodes(Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const Port& port : node.inputs) CheckPort(graph, port, "node '" + node.name + "'");
  }
  for (const GraphOutput& output : graph.outputs)
    CheckPort(graph, output.port, "output '" + output.name + "'");
  Sorter sorter(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) sorter.Visit(static_cast<int>(i));
  Rebuild(graph, sorter.order());
}

void RemoveDeadNodes(Graph& graph) {
  Sorter sorter(graph);
  for (int input : graph.inputs) sorter.Visit(input);
  for (const GraphOutput& output : graph.outputs) {
    if (output.port.present()) sorter.Visit(output.port.node);
  }
  std::vector<int> order = sorter.order();
  std::sort(order.begin(), order.end());
  Rebuild(graph, order);
}

uint64_t ConstantBytes(const Graph& graph) {
  std::unordered_set<const HostTensor*> counted;
  uint64_t bytes = 0;
  auto count = [&](const Port& port) {
    if (!port.present()) return;
    Constant constant = ConstantOf(graph.nodes[static_cast<size_t>(port.node)]);
    if (constant != nullptr && counted.insert(constant.get()).second) bytes += constant->bytes();
  };
  for (const Node& node : graph.nodes) {
    for (const Port& port : node.inputs) count(port);
    for (const auto& [name, value] : node.attributes) {
      if (auto* body = std::get_if<std::shared_ptr<Graph>>(&value)) bytes += ConstantBytes(**body);
    }
  }
  for (const GraphOutput& output : graph.outputs) count(output.port);
  return bytes;
}

}  // namespace belay::graph
