#include "graph/interpreter.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "graph/codes.h"
#include "graph/control_flow.h"
#include "graph/translation.h"

namespace belay::graph {
namespace {

// The memory behind the values of one node.
class Frames {
 public:
  Frames(const Translated& node, std::span<const Constant> inputs, NodeScratch& scratch)
      : node_(node), values_(scratch.values), addresses_(scratch.addresses), rooms_(scratch.rooms) {
    values_.assign(node.values.size(), nullptr);
    for (size_t i = 0; i < node.values.size(); ++i) {
      if (values_[i] == nullptr) values_[i] = Make(i, inputs);  // an output that is the same memory made it
    }
  }
  ~Frames() { values_.clear(); }
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  void Run(const Step& step) {
    addresses_.clear();
    for (int value : step.values) addresses_.push_back(value < 0 ? nullptr : DataOf(value));
    std::optional<HostTensor> workspace;
    if (uint64_t bytes = step.plan->workspace_bytes(); bytes != 0) {
      workspace.emplace(DType::kU8, Shape{static_cast<int64_t>(bytes)}, HostTensor::Fill::kNothing);
    }
    step.plan->Run(
        {addresses_.data(), workspace ? reinterpret_cast<char*>(workspace->mutable_data()) : nullptr});
  }

  void MoveOutputs(std::span<Constant> to) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = std::move(values_[static_cast<size_t>(node_.inputs) + i]);
  }

 private:
  Constant Make(size_t i, std::span<const Constant> inputs) {
    const LocalValue& value = node_.values[i];
    if (i < inputs.size()) return inputs[i];
    if (value.given != nullptr) return value.given;
    if (value.same_memory_as < 0) {
      if (const OutputRoom* room = RoomFor(i))
        return std::make_shared<HostTensor>(value.dtype, value.shape, room->data, nullptr);
      return std::make_shared<HostTensor>(value.dtype, value.shape, HostTensor::Fill::kNothing);
    }
    // An output may be an alias of what comes after it: an intermediate.
    const Constant& source = SourceOf(value.same_memory_as, inputs);
    return std::make_shared<HostTensor>(value.dtype, value.shape, source);
  }

  // Null where there is none, or too little.
  const OutputRoom* RoomFor(size_t i) const {
    const size_t output = i - static_cast<size_t>(node_.inputs);
    if (output >= rooms_.size() || rooms_[output].data == nullptr) return nullptr;
    const LocalValue& value = node_.values[i];
    return PackedBytes(value.dtype, tensor::CountOf(value.shape)) <= rooms_[output].bytes ? &rooms_[output]
                                                                                          : nullptr;
  }

  const Constant& SourceOf(int number, std::span<const Constant> inputs) {
    auto i = static_cast<size_t>(number);
    if (values_[i] == nullptr) values_[i] = Make(i, inputs);
    return values_[i];
  }

  // Intermediates and outputs were made here, so they may be written.
  char* DataOf(int number) {
    return reinterpret_cast<char*>(const_cast<std::byte*>(values_[static_cast<size_t>(number)]->data()));
  }

  const Translated& node_;
  std::vector<Constant>& values_;
  std::vector<char*>& addresses_;
  const std::vector<OutputRoom>& rooms_;
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

// Of each of the results of all nodes, `places` of each.
std::vector<int> OutputsAlone(const Graph& graph, std::span<const size_t> places, std::span<const int> uses) {
  std::vector<int> made_for(places.back(), -1);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Port& port = graph.outputs[i].port;
    if (!port.present()) continue;
    const auto node = static_cast<size_t>(port.node);
    if (uses[node] == 1) made_for[places[node] + static_cast<size_t>(port.output)] = static_cast<int>(i);
  }
  return made_for;
}

void RunSteps(const Translated& node, std::span<const Constant> inputs, NodeScratch& scratch,
              std::span<Constant> outputs) {
  Frames frames(node, inputs, scratch);
  for (const Step& step : node.steps) frames.Run(step);
  frames.MoveOutputs(outputs);
}

std::vector<Constant> RunControl(ControlFunction control, const Node& node, std::span<const Constant> inputs,
                                 BodyRunner& bodies) {
  std::vector<Constant> outputs = control(node, inputs, bodies);
  if (outputs.size() >= static_cast<size_t>(node.outputs)) return outputs;
  Fail(kGraphInvalid, "graph-body", "node '{}' ({}) has {} outputs, but gave {}", node.name, node.type,
       node.outputs, outputs.size());
}

// Bodies that are run once.
class OneRun final : public BodyRunner {
 public:
  std::vector<Constant> RunBody(const Graph& body, std::span<const Constant> inputs) override {
    return Evaluate(body, inputs);
  }
};

}  // namespace

// What was made of a node for inputs like some that it had.
class PreparedNode {
 public:
  // `constants`: of the graph's nodes.
  void Run(const Node& node, std::span<const Constant> constants, std::span<const Constant> inputs,
           NodeScratch& scratch, std::span<Constant> outputs) {
    if (!Fits(inputs)) Prepare(node, constants, inputs);
    RunSteps(translated_, inputs, scratch, outputs);
  }

 private:
  static constexpr size_t kFewBytes = 256;

  struct Input {
    bool present = false, fixed = false;  // fixed: a constant of the graph
    DType dtype = DType::kUndefined;
    Shape shape = {};
    Constant few = {};  // a copy, where there are few elements
  };

  bool Fits(std::span<const Constant> inputs) const {
    if (!ready_) return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Input& had = inputs_[i];
      const Constant& now = inputs[i];
      if (had.present != (now != nullptr)) return false;
      if (!had.present || had.fixed) continue;
      if (had.dtype != now->dtype() || had.shape != now->shape()) return false;
      if (translated_.looked_at[i] && (had.few == nullptr || now->members() != nullptr ||
                                       std::memcmp(had.few->data(), now->data(), now->bytes()) != 0))
        return false;
    }
    return true;
  }

  void Prepare(const Node& node, std::span<const Constant> constants, std::span<const Constant> inputs) {
    ready_ = false;
    inputs_.clear();
    std::vector<KnownInput> known;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Constant& input = inputs[i];
      if (input == nullptr) {
        inputs_.emplace_back();
        known.emplace_back();
        continue;
      }
      const bool fixed = constants[static_cast<size_t>(node.inputs[i].node)] != nullptr;
      inputs_.push_back({true, fixed, input->dtype(), input->shape(), fixed ? nullptr : FewOf(*input)});
      // What is kept must not lie in memory of the caller.
      const Constant& elements = inputs_.back().few != nullptr ? inputs_.back().few : input;
      known.push_back({true, input->dtype(), input->shape(), elements, fixed});
    }
    translated_ = TranslateNode(node, known);
    ready_ = true;
    for (size_t i = 0; i < inputs_.size(); ++i)
      ready_ = ready_ && (!translated_.looked_at[i] || inputs_[i].fixed || inputs_[i].few != nullptr);
  }

  static Constant FewOf(const HostTensor& tensor) {
    if (tensor.members() != nullptr || tensor.bytes() > kFewBytes) return nullptr;
    auto copy = std::make_shared<HostTensor>(tensor.dtype(), tensor.shape());
    std::memcpy(copy->mutable_data(), tensor.data(), tensor.bytes());
    return copy;
  }

  bool ready_ = false;
  std::vector<Input> inputs_;
  Translated translated_;
};

Interpreter::Interpreter(const Graph& graph)
    : graph_(graph), uses_(CountUses(graph)), prepared_(graph.nodes.size()), places_{0} {
  for (const Node& node : graph.nodes) {
    constants_.push_back(ConstantOf(node));
    controls_.push_back(FindControl(node.type));
    places_.push_back(places_.back() + static_cast<size_t>(std::max(node.outputs, 1)));
  }
  made_for_ = OutputsAlone(graph, places_, uses_);
}

Interpreter::~Interpreter() = default;

std::vector<Constant> Interpreter::Run(std::span<const Constant> inputs, OpListener* listener,
                                       std::span<const OutputRoom> rooms) {
  if (inputs.size() != graph_.inputs.size()) {
    Fail(kGraphInvalid, "graph-run-inputs", "graph '{}' takes {} inputs and got {}", graph_.name,
         graph_.inputs.size(), inputs.size());
  }
  std::vector<int> left = uses_;
  std::vector<Constant> results(places_.back());
  const auto results_of = [&](size_t node) {
    return std::span(results).subspan(places_[node], places_[node + 1] - places_[node]);
  };
  const auto value = [&](const Port& port) -> Constant {
    return port.present() ? results_of(static_cast<size_t>(port.node))[static_cast<size_t>(port.output)]
                          : nullptr;
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    results_of(static_cast<size_t>(graph_.inputs[i])).front() = inputs[i];
  std::vector<Constant> arguments;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    if (node.type == kDataType || uses_[n] == 0) continue;
    if (constants_[n] != nullptr) {
      results_of(n).front() = constants_[n];
      continue;
    }
    arguments.clear();
    for (const Port& port : node.inputs) arguments.push_back(value(port));
    const int64_t begin = listener == nullptr ? 0 : NowNs();
    if (controls_[n] != nullptr) {
      std::vector<Constant> outputs = RunControl(controls_[n], node, arguments, *this);
      std::move(outputs.begin(), outputs.begin() + node.outputs, results_of(n).begin());
    } else {
      scratch_.rooms.clear();
      for (size_t place = places_[n]; !rooms.empty() && place < places_[n + 1]; ++place)
        scratch_.rooms.push_back(made_for_[place] < 0 ? OutputRoom{}
                                                      : rooms[static_cast<size_t>(made_for_[place])]);
      prepared_[n].Run(node, constants_, arguments, scratch_,
                       results_of(n).first(static_cast<size_t>(node.outputs)));
    }
    if (listener != nullptr) listener->Ran(node.name, node.type, begin, NowNs());
    for (const Port& port : node.inputs) {
      if (!port.present() || --left[static_cast<size_t>(port.node)] != 0) continue;
      for (Constant& result : results_of(static_cast<size_t>(port.node))) result.reset();
    }
  }
  std::vector<Constant> outputs;
  for (const GraphOutput& output : graph_.outputs) outputs.push_back(value(output.port));
  return outputs;
}

std::vector<Constant> Interpreter::RunBody(const Graph& body, std::span<const Constant> inputs) {
  std::unique_ptr<Interpreter>& interpreter = bodies_[&body];
  if (interpreter == nullptr) interpreter = std::make_unique<Interpreter>(body);
  return interpreter->Run(inputs);
}

std::vector<Constant> EvaluateNode(const Node& node, std::span<const Constant> inputs) {
  if (ControlFunction control = FindControl(node.type)) {
    OneRun bodies;
    return RunControl(control, node, inputs, bodies);
  }
  std::vector<KnownInput> known;
  for (const Constant& input : inputs) {
    known.push_back(input == nullptr ? KnownInput{}
                                     : KnownInput{true, input->dtype(), input->shape(), input, false});
  }
  NodeScratch scratch;
  std::vector<Constant> outputs(static_cast<size_t>(node.outputs));
  RunSteps(TranslateNode(node, known), inputs, scratch, outputs);
  return outputs;
}

std::vector<Constant> Evaluate(const Graph& graph, std::span<const Constant> inputs) {
  return Interpreter(graph).Run(inputs);
}

}  // namespace belay::graph
