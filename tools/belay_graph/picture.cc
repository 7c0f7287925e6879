#include "belay_graph/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "belay_graph/measure.h"
#include "graph/program.h"
#include "graph/specialise.h"

namespace belay::graph_tool {
namespace {

using graph::Graph;
using graph::Node;
using graph::Port;
using graph::ValueType;

std::string TextOf(const ValueType& type) {
  std::string text = tensor::InfoOf(type.dtype).name;
  if (!type.rank_known) return text + " of any shape";
  std::string sizes;
  for (int64_t size : type.shape) {
    sizes += (sizes.empty() ? "" : ", ") + (size < 0 ? std::string("?") : std::to_string(size));
  }
  return text + " [" + sizes + "]";
}

uint64_t BytesOf(const ValueType& type) { return graph::PortOf("", type).bytes; }

// "FusedConv2D + bias + relu": the optional inputs of the operators that passes make, and the
// activation behind.
std::string TypeWithFused(const Node& node) {
  std::string text = node.type;
  if (text == "FusedPointwise") return *graph::FindAttribute<std::string>(node, "steps");
  if (text == "FusedAttention") return node.inputs.size() > 3 ? text + " + mask" : text;
  if (!node.type.starts_with("Fused")) return text;
  constexpr const char* kOptional[] = {"bias", "residual"};
  for (size_t i = 0; i < std::size(kOptional); ++i) {
    if (i + 2 < node.inputs.size() && node.inputs[i + 2].present()) text += std::string(" + ") + kOptional[i];
  }
  const auto* activation = graph::FindAttribute<std::string>(node, "activation");
  return activation == nullptr || activation->empty() ? text : text + " + " + *activation;
}

class Drawer {
 public:
  Drawer(const Graph& graph, Picture& picture)
      : graph_(graph), picture_(picture), number_(graph.nodes.size(), -1) {}

  void AddGraph() {
    for (int input : graph_.inputs) AddNode(static_cast<size_t>(input), Shown::kInput);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (number_[n] < 0 && graph::ConstantOf(graph_.nodes[n]) == nullptr) AddNode(n, Shown::kNode);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const Port& port : graph_.nodes[n].inputs) AddFlow(port, number_[n]);
    }
    const std::vector<graph::ModelPort> outputs = graph::OutputPorts(graph_);
    for (size_t i = 0; i < outputs.size(); ++i) AddOutput(graph_.outputs[i].port, outputs[i]);
  }

  void AddProgram(const graph::Program& program, const std::vector<double>& times) {
    std::unordered_map<std::string, int> by_name;
    for (size_t i = 0; i < picture_.shown.size(); ++i) {
      if (picture_.shown[i].kind == Shown::kNode)
        by_name.emplace(picture_.shown[i].name, static_cast<int>(i));
    }
    for (size_t k = 0; k < program.kernels().size(); ++k) {
      const graph::Kernel& kernel = program.kernels()[k];
      if (!times.empty()) picture_.microseconds += times[k];
      auto it = by_name.find(kernel.name);
      if (it == by_name.end()) continue;  // copies that are no node
      AddKernel(program, kernel, picture_.shown[static_cast<size_t>(it->second)]);
      Shown& shown = picture_.shown[static_cast<size_t>(it->second)];
      if (!times.empty()) shown.microseconds = shown.microseconds.value_or(0) + times[k];
    }
    picture_.planned = true;
    picture_.work_bytes = program.work_bytes();
    picture_.least_work_bytes = program.memory().lower_bound;
  }

 private:
  void AddNode(size_t n, Shown::Kind kind) {
    const Node& node = graph_.nodes[n];
    Shown shown;
    shown.kind = kind;
    shown.type = kind == Shown::kInput ? "input" : TypeWithFused(node);
    shown.name = node.name;
    for (const ValueType& type : node.types) {
      shown.result += (shown.result.empty() ? "" : "; ") + TextOf(type);
      shown.result_bytes += BytesOf(type);
    }
    std::unordered_set<const graph::HostTensor*> read;
    for (const Port& port : node.inputs) {
      if (!port.present()) continue;
      graph::Constant constant = graph::ConstantOf(graph_.nodes[static_cast<size_t>(port.node)]);
      if (constant == nullptr || !read.insert(constant.get()).second) continue;
      shown.constant_bytes += constant->bytes();
      if (constants_.insert(constant.get()).second) picture_.constant_bytes += constant->bytes();
    }
    number_[n] = static_cast<int>(picture_.shown.size());
    picture_.shown.push_back(std::move(shown));
  }

  void AddFlow(const Port& port, int to) {
    if (!port.present() || to < 0) return;
    auto from = static_cast<size_t>(port.node);
    if (number_[from] < 0) return;  // a constant
    const auto& types = graph_.nodes[from].types;
    ValueType type = static_cast<size_t>(port.output) < types.size() ? types[static_cast<size_t>(port.output)]
                                                                     : ValueType{};
    Flow flow{number_[from], to, TextOf(type), BytesOf(type)};
    bool twice = std::any_of(picture_.flows.begin(), picture_.flows.end(), [&](const Flow& other) {
      return other.from == flow.from && other.to == flow.to && other.type == flow.type;
    });
    if (!twice) picture_.flows.push_back(std::move(flow));
  }

  void AddOutput(const graph::Port& from, const graph::ModelPort& output) {
    Shown shown;
    shown.kind = Shown::kOutput;
    shown.type = "output";
    shown.name = output.name;
    shown.result = TextOf(output.type);
    shown.result_bytes = BytesOf(output.type);
    picture_.shown.push_back(std::move(shown));
    AddFlow(from, static_cast<int>(picture_.shown.size()) - 1);
  }

  static void AddKernel(const graph::Program& program, const graph::Kernel& kernel, Shown& shown) {
    ++shown.kernels;
    shown.operations += 2.0 * static_cast<double>(kernel.plan->products());
    for (int b = 0; b < kernel.plan->binding_count(); ++b) {
      const ops::Binding& binding = kernel.plan->binding(b);
      shown.moved_bytes += static_cast<uint64_t>(binding.end - binding.first);
    }
    shown.workspace_bytes = std::max(shown.workspace_bytes, kernel.plan->workspace_bytes());
    for (size_t b = 0; b < kernel.bindings.size(); ++b) {
      const graph::Place& place = kernel.bindings[b];
      if (!place.used || !ops::Writes(kernel.plan->binding(static_cast<int>(b)).access)) continue;
      if (place.base == graph::kWorkBase) {
        shown.place = fmt::format("{:#x}", place.offset);
      } else if (place.base >= graph::kFirstPortBase + program.inputs().size()) {
        shown.place = "output";
      }
    }
  }

  const Graph& graph_;
  Picture& picture_;
  std::vector<int> number_;  // of each node of the graph: -1 for constants
  std::unordered_set<const graph::HostTensor*> constants_;
};

}  // namespace

Picture MakePicture(const Graph& graph, const std::vector<ValueType>& inputs, const RunOptions& options) {
  Picture picture;
  picture.name = graph.name;
  graph::Specialised specialised = graph::Specialise(graph, inputs);
  Drawer drawer(specialised.graph, picture);
  drawer.AddGraph();
  if (!specialised.dynamic_at.empty()) {
    picture.note = fmt::format(
        "the data decides the shape of node '{}': from there on the model is interpreted, without "
        "a plan",
        specialised.dynamic_at);
    return picture;
  }
  std::optional<Workers> workers;
  if (options.runs > 0) workers.emplace();
  graph::Program program(specialised.graph);
  picture.runs = options.runs;
  if (options.runs > 0) picture.roof = RoofOfThisMachine(options.roof_path);
  drawer.AddProgram(program,
                    options.runs > 0 ? MeasureKernels(program, options.runs) : std::vector<double>());
  for (Shown& shown : picture.shown) {
    const double least = picture.roof.SecondsFor(shown.operations, shown.moved_bytes);
    if (shown.microseconds.value_or(0) > 0 && least > 0) shown.of_roof = least * 1e6 / *shown.microseconds;
  }
  return picture;
}

std::string TextOfBytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes)
                   : fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, kUnits[unit]);
}

std::string TextOfMicroseconds(double microseconds) {
  if (microseconds < 999.95) return fmt::format("{:.1f} us", microseconds);
  return fmt::format("{:.2f} ms", microseconds / 1000);
}

std::string TextOfFlow(const Flow& flow) {
  return flow.bytes == 0 ? flow.type : flow.type + ", " + TextOfBytes(flow.bytes);
}

std::string TextOfTime(const Shown& shown) {
  const std::string time = TextOfMicroseconds(shown.microseconds.value_or(0));
  return shown.of_roof ? fmt::format("{}, {:.0f} % of the roof", time, 100 * *shown.of_roof) : time;
}

std::string Shortened(const std::string& text, size_t length) {
  return text.size() <= length ? text : ".." + text.substr(text.size() - length + 2);
}

}  // namespace belay::graph_tool
