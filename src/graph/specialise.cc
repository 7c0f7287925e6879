#include "graph/specialise.h"

#include <algorithm>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/control_flow.h"
#include "graph/interpreter.h"
#include "graph/op_schema.h"
#include "graph/translation.h"

namespace belay::graph {
namespace {

constexpr size_t kMostFoldedBytes = size_t{256} << 20;

// Its result differs from run to run.
bool IsRandom(const std::string& type) {
  const OpSchema* schema = FindOp(type);
  return schema != nullptr && schema->Is(kTraitRandom);
}

class Specialiser {
 public:
  Specialiser(const Graph& from, std::span<const ValueType> inputs, Purpose purpose)
      : from_(from), inputs_(inputs), purpose_(purpose) {
    result_.graph.name = from.name;
  }

  Specialised Run() {
    ports_.resize(from_.nodes.size());
    for (int input : from_.inputs) AddInput(input);
    for (size_t n = 0; n < from_.nodes.size(); ++n) {
      if (from_.nodes[n].type != kDataType) {
        Visit(static_cast<int>(n), from_.nodes[n]);
      } else if (ports_[n].empty()) {
        Fail(kGraphInvalid, "graph-input-missing", "node '{}' (Data) is none of the graph's inputs",
             from_.nodes[n].name);
      }
    }
    for (const GraphOutput& output : from_.outputs)
      graph().outputs.push_back({Moved(output.port), output.name, output.declared});
    RemoveDeadNodes(graph());
    return std::move(result_);
  }

 private:
  Graph& graph() { return result_.graph; }
  Node& NodeAt(const Port& port) { return graph().nodes[static_cast<size_t>(port.node)]; }

  Port Moved(const Port& port) const {
    if (!port.present()) return {};
    return ports_[static_cast<size_t>(port.node)][static_cast<size_t>(port.output)];
  }

  void AddInput(int number) {
    const Node& data = from_.nodes[static_cast<size_t>(number)];
    size_t index = graph().inputs.size();
    int node = graph().AddInput(data.name, inputs_[index]);
    ports_[static_cast<size_t>(number)] = {{node, 0}};
  }

  KnownInput KnownOf(const Port& port, bool* all_known) {
    if (!port.present()) return {};
    const Node& node = NodeAt(port);
    const ValueType& type = node.types[static_cast<size_t>(port.output)];
    *all_known &= type.concrete();
    Constant constant = ConstantOf(node);
    return {true, type.dtype, type.shape, constant, constant != nullptr};
  }

  void Visit(int number, const Node& old) {
    auto& outputs = ports_[static_cast<size_t>(number)];
    if (Constant constant = ConstantOf(old)) {
      outputs = {graph().AddConstant(old.name, constant)};
      return;
    }
    CheckControl(old);
    Node node = old;
    node.after.clear();
    for (Port& port : node.inputs) port = Moved(port);
    bool all_known = true;
    std::vector<KnownInput> known;
    for (const Port& port : node.inputs) known.push_back(KnownOf(port, &all_known));
    if (Inline(number, node, known) || (all_known && Fold(number, node, known))) return;
    node.types.assign(static_cast<size_t>(node.outputs), ValueType{});
    bool typed = all_known && FindControl(node.type) == nullptr && TypeOutputs(number, node, known);
    if (typed && !outputs.empty()) return;  // its outputs were given
    if (!typed && result_.dynamic_at.empty()) result_.dynamic_at = node.name;
    AddNode(number, std::move(node));
  }

  void AddNode(int number, Node node) {
    auto& outputs = ports_[static_cast<size_t>(number)];
    int count = node.outputs;
    int added = graph().Add(std::move(node));
    for (int i = 0; i < count; ++i) outputs.push_back({added, i});
  }

  // False: only the data decides. Outputs that are all known already become constants.
  bool TypeOutputs(int number, Node& node, const std::vector<KnownInput>& known) {
    Translated translated;
    try {
      translated = TranslateNode(node, known, purpose_);
    } catch (const NeedsValue&) {
      return false;
    }
    bool given = true;
    for (int i = 0; i < node.outputs; ++i) {
      const LocalValue& value = translated.values[static_cast<size_t>(translated.inputs + i)];
      node.types[static_cast<size_t>(i)] = {value.dtype, Format::kND, true, value.shape};
      given &= value.given != nullptr;
    }
    for (int i = 0; given && i < node.outputs; ++i) {
      ports_[static_cast<size_t>(number)].push_back(graph().AddConstant(
          node.name, translated.values[static_cast<size_t>(translated.inputs + i)].given));
    }
    return true;
  }

  // A node that depends on constants only.
  bool Fold(int number, const Node& node, const std::vector<KnownInput>& known) {
    // A loop may run for ever: that is not for the compiler to find out.
    if (IsRandom(node.type) || FindControl(node.type) != nullptr) return false;
    std::vector<Constant> inputs;
    size_t bytes = 0;
    for (const KnownInput& input : known) {
      if (input.present && input.value == nullptr) return false;
      inputs.push_back(input.value);
      if (input.present) bytes += input.value->bytes();
    }
    if (bytes > kMostFoldedBytes) return false;
    for (Constant& output : EvaluateNode(node, inputs)) {
      ports_[static_cast<size_t>(number)].push_back(graph().AddConstant(node.name, std::move(output)));
    }
    return true;
  }

  // A branch whose condition is known: the body takes the node's place.
  bool Inline(int number, const Node& node, const std::vector<KnownInput>& known) {
    if (node.type != "If" || known[0].value == nullptr) return false;
    bool holds = known[0].value->Reals().at(0) != 0;
    const auto* body = FindAttribute<std::shared_ptr<Graph>>(node, holds ? "then_branch" : "else_branch");
    if (body == nullptr || *body == nullptr) return false;
    const Graph& inner = **body;
    std::vector<std::vector<Port>> outer = std::exchange(ports_, {});
    ports_.resize(inner.nodes.size());
    for (size_t i = 0; i < inner.inputs.size(); ++i) {
      ports_[static_cast<size_t>(inner.inputs[i])] = {node.inputs.at(i + 1)};
    }
    for (size_t n = 0; n < inner.nodes.size(); ++n) {
      if (inner.nodes[n].type != kDataType) Visit(static_cast<int>(n), inner.nodes[n]);
    }
    std::vector<Port> results;
    for (const GraphOutput& output : inner.outputs) results.push_back(Moved(output.port));
    ports_ = std::move(outer);
    ports_[static_cast<size_t>(number)] = std::move(results);
    return true;
  }

  const Graph& from_;
  std::span<const ValueType> inputs_;
  const Purpose purpose_;
  std::vector<std::vector<Port>> ports_;  // old node -> where its outputs are now
  Specialised result_;
};

}  // namespace

std::vector<ValueType> InputTypes(const Graph& graph) {
  std::vector<ValueType> types;
  for (int input : graph.inputs) types.push_back(graph.nodes[static_cast<size_t>(input)].types[0]);
  return types;
}

bool AllConcrete(std::span<const ValueType> types) {
  return std::all_of(types.begin(), types.end(), [](const ValueType& type) { return type.concrete(); });
}

bool Admits(const ValueType& declared, const Shape& shape) {
  if (!declared.rank_known) return true;
  return std::equal(declared.shape.begin(), declared.shape.end(), shape.begin(), shape.end(),
                    [](int64_t has, int64_t wants) { return has < 0 || has == wants; });
}

Specialised Specialise(const Graph& graph, std::span<const ValueType> inputs, Purpose purpose) {
  if (inputs.size() != graph.inputs.size()) {
    Fail(kGraphInvalid, "graph-run-inputs", "graph '{}' takes {} inputs and got {}", graph.name,
         graph.inputs.size(), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].concrete()) continue;
    Fail(kShapeInvalid, "graph-shape-open",
         "input {} of graph '{}' is {}: each of its sizes must be known here", i, graph.name,
         inputs[i].ToString());
  }
  return Specialiser(graph, inputs, purpose).Run();
}

}  // namespace belay::graph
