#include "graph/interpreter.h"

#include <optional>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/control_flow.h"
#include "graph/translation.h"

namespace belay::graph {
namespace {

std::vector<KnownInput> Known(std::span<const Constant> inputs) {
  std::vector<KnownInput> known;
  for (const Constant& input : inputs) {
    if (input == nullptr) {
      known.emplace_back();
    } else {
      known.push_back({true, input->dtype(), input->shape(), input, false});
    }
  }
  return known;
}

// The memory behind the values of one node.
class Frames {
 public:
  Frames(const Translated& node, std::span<const Constant> inputs)
      : node_(node), values_(node.values.size()) {
    for (size_t i = 0; i < node.values.size(); ++i) {
      if (values_[i] == nullptr) values_[i] = Make(i, inputs);  // an output that is the same memory made it
    }
  }

  void Run(const Step& step) {
    std::vector<char*> at;
    for (int value : step.values) at.push_back(value < 0 ? nullptr : DataOf(value));
    std::optional<HostTensor> workspace;
    if (uint64_t bytes = step.plan->workspace_bytes(); bytes != 0) {
      workspace.emplace(DType::kU8, Shape{static_cast<int64_t>(bytes)});
    }
    step.plan->Run({at.data(), workspace ? reinterpret_cast<char*>(workspace->mutable_data()) : nullptr});
  }

  std::vector<Constant> Outputs() const {
    auto first = values_.begin() + node_.inputs;
    return {first, first + node_.outputs};
  }

 private:
  Constant Make(size_t i, std::span<const Constant> inputs) const {
    const LocalValue& value = node_.values[i];
    if (i < inputs.size()) return inputs[i];
    if (value.given != nullptr) return value.given;
    if (value.same_memory_as < 0) return std::make_shared<HostTensor>(value.dtype, value.shape);
    // An output may be an alias of what comes after it: an intermediate.
    const Constant& source = SourceOf(value.same_memory_as, inputs);
    return std::make_shared<HostTensor>(value.dtype, value.shape, *source);
  }

  const Constant& SourceOf(int number, std::span<const Constant> inputs) const {
    auto i = static_cast<size_t>(number);
    if (values_[i] == nullptr) values_[i] = Make(i, inputs);
    return values_[i];
  }

  // Intermediates and outputs were made here, so they may be written.
  char* DataOf(int number) {
    return reinterpret_cast<char*>(const_cast<std::byte*>(values_[static_cast<size_t>(number)]->data()));
  }

  const Translated& node_;
  mutable std::vector<Constant> values_;
};

// How often each node's outputs are still wanted.
std::vector<int> CountUses(const Graph& graph) {
  std::vector<int> uses(graph.nodes.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const Port& port : node.inputs) {
      if (port.present()) ++uses[static_cast<size_t>(port.node)];
    }
  }
  for (const GraphOutput& output : graph.outputs) {
    if (output.port.present()) ++uses[static_cast<size_t>(output.port.node)];
  }
  return uses;
}

class GraphRun {
 public:
  explicit GraphRun(const Graph& graph)
      : graph_(graph), uses_(CountUses(graph)), results_(graph.nodes.size()) {}

  std::vector<Constant> Run(std::span<const Constant> inputs) {
    if (inputs.size() != graph_.inputs.size()) {
      Fail(kGraphInvalid, "graph-run-inputs", "graph '{}' takes {} inputs and got {}", graph_.name,
           graph_.inputs.size(), inputs.size());
    }
    for (size_t i = 0; i < inputs.size(); ++i) ResultsOf(graph_.inputs[i]) = {inputs[i]};
    for (size_t n = 0; n < graph_.nodes.size(); ++n) RunNode(n);
    std::vector<Constant> outputs;
    for (const GraphOutput& output : graph_.outputs) outputs.push_back(Value(output.port));
    return outputs;
  }

 private:
  std::vector<Constant>& ResultsOf(int node) { return results_[static_cast<size_t>(node)]; }

  Constant Value(const Port& port) {
    if (!port.present()) return nullptr;
    return ResultsOf(port.node)[static_cast<size_t>(port.output)];
  }

  void RunNode(size_t n) {
    const Node& node = graph_.nodes[n];
    if (node.type == kDataType || uses_[n] == 0) return;
    if (Constant constant = ConstantOf(node)) {
      results_[n] = {constant};
      return;
    }
    std::vector<Constant> inputs;
    for (const Port& port : node.inputs) inputs.push_back(Value(port));
    results_[n] = EvaluateNode(node, inputs);
    for (const Port& port : node.inputs) {
      if (port.present() && --uses_[static_cast<size_t>(port.node)] == 0) ResultsOf(port.node).clear();
    }
  }

  const Graph& graph_;
  std::vector<int> uses_;
  std::vector<std::vector<Constant>> results_;
};

}  // namespace

std::vector<Constant> EvaluateNode(const Node& node, std::span<const Constant> inputs) {
  if (ControlFunction control = FindControl(node.type)) {
    std::vector<Constant> outputs = control(node, inputs);
    if (outputs.size() >= static_cast<size_t>(node.outputs)) return outputs;
    Fail(kGraphInvalid, "graph-body", "node '{}' ({}) has {} outputs, but gave {}", node.name, node.type,
         node.outputs, outputs.size());
  }
  Translated translated = TranslateNode(node, Known(inputs));
  Frames frames(translated, inputs);
  for (const Step& step : translated.steps) frames.Run(step);
  return frames.Outputs();
}

std::vector<Constant> Evaluate(const Graph& graph, std::span<const Constant> inputs) {
  return GraphRun(graph).Run(inputs);
}

}  // namespace belay::graph
