#include "graph/model_edits.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/option_text.h"

namespace belay::graph {
namespace {

std::vector<std::string> NamesIn(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view part : SplitFilled(text, ';')) {
    std::string name(part);
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

// "conv1:0" as its name and number. Names may hold colons as well: the number is what stands behind
// the last one.
std::optional<std::pair<std::string, size_t>> NodeAndNumber(const std::string& text) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  size_t number = 0;
  const char* begin = text.data() + colon + 1;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || rest != end || begin == end) return std::nullopt;
  return std::pair(text.substr(0, colon), number);
}

bool HasTensor(const onnx::GraphData& data, const std::string& name) {
  auto named = [&](const auto& value) { return value.name == name; };
  return std::any_of(data.inputs.begin(), data.inputs.end(), named) ||
         std::any_of(data.nodes.begin(), data.nodes.end(), [&](const onnx::NodeData& node) {
           return std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end();
         });
}

std::string TensorOf(const onnx::GraphData& data, const std::string& what) {
  if (auto place = NodeAndNumber(what)) {
    for (const onnx::NodeData& node : data.nodes) {
      if (node.name != place->first) continue;
      if (place->second < node.outputs.size() && !node.outputs[place->second].empty()) {
        return node.outputs[place->second];
      }
      Fail(kGraphInvalid, "build-out-nodes", "E10001: out_nodes names '{}', but node '{}' has {} outputs",
           what, node.name, node.outputs.size());
    }
  }
  if (HasTensor(data, what)) return what;
  Fail(kGraphInvalid, "build-out-nodes",
       "E10001: out_nodes names '{}', but the model has no such node and output, and no tensor "
       "of this name; write "
       "\"node_name1:0;node_name2:1\"",
       what);
}

DType TypeOfName(const std::string& name) {
  constexpr std::pair<const char*, DType> kTypes[] = {
      {"FP32", DType::kF32},   {"FP16", DType::kF16},  {"UINT8", DType::kU8},   {"INT8", DType::kI8},
      {"UINT16", DType::kU16}, {"INT16", DType::kI16}, {"UINT32", DType::kU32}, {"INT32", DType::kI32},
      {"UINT64", DType::kU64}, {"INT64", DType::kI64}, {"DOUBLE", DType::kF64}};
  for (const auto& [known, type] : kTypes) {
    if (name == known) return type;
  }
  Fail(kGraphInvalid, "build-output-type",
       "E10001: output_type names the type '{}'; possible are FP32, FP16, DOUBLE, and INT and "
       "UINT of 8, 16, 32 and 64",
       name);
}

int AddCast(Graph& graph, Port from, const std::string& name, DType to) {
  Node cast{.name = name, .type = "Cast", .inputs = {from}};
  cast.attributes["dst_type"] = to;
  return graph.Add(std::move(cast));
}

void ConvertOutput(Graph& graph, GraphOutput& output, DType to) {
  if (output.declared.dtype == to) return;
  output.port = {AddCast(graph, output.port, output.name + "_as_output", to), 0};
  output.declared.dtype = to;
}

}  // namespace

void ChooseOutputs(onnx::ModelData& model, const std::string& out_nodes) {
  std::vector<onnx::ValueData> outputs;
  for (const std::string& what : NamesIn(out_nodes)) {
    onnx::ValueData output;
    output.name = TensorOf(model.graph, what);
    auto declared = std::find_if(model.graph.outputs.begin(), model.graph.outputs.end(),
                                 [&](const onnx::ValueData& other) { return other.name == output.name; });
    outputs.push_back(declared == model.graph.outputs.end() ? output : *declared);
  }
  model.graph.outputs = std::move(outputs);
}

void ChooseOutputs(Graph& graph, const std::string& out_nodes) {
  std::vector<GraphOutput> outputs;
  for (const std::string& what : NamesIn(out_nodes)) {
    const auto place = NodeAndNumber(what);
    const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                   [&](const Node& n) { return place && n.name == place->first; });
    if (node == graph.nodes.end() || place->second >= static_cast<size_t>(node->outputs)) {
      Fail(kGraphInvalid, "build-out-nodes",
           "E10001: out_nodes names '{}', but the graph has no such node and output; write "
           "\"node_name1:0;node_name2:1\"",
           what);
    }
    const Port port{static_cast<int>(node - graph.nodes.begin()), static_cast<int>(place->second)};
    auto declared = std::find_if(graph.outputs.begin(), graph.outputs.end(),
                                 [&](const GraphOutput& other) { return other.port == port; });
    outputs.push_back(declared == graph.outputs.end() ? GraphOutput{port, what} : *declared);
  }
  graph.outputs = std::move(outputs);
}

std::string OutNodesOf(const Graph& graph) {
  std::string names;
  for (const GraphOutput& output : graph.outputs) {
    names +=
        graph.nodes[static_cast<size_t>(output.port.node)].name + ":" + std::to_string(output.port.output);
    names += ';';
  }
  return names;
}

void ConvertOutputs(Graph& graph, const std::string& output_type, const std::string& out_nodes) {
  if (output_type.find(':') == std::string::npos) {
    for (GraphOutput& output : graph.outputs) ConvertOutput(graph, output, TypeOfName(output_type));
    return;
  }
  std::vector<std::string> chosen = NamesIn(out_nodes);
  for (const std::string& entry : NamesIn(output_type)) {
    size_t colon = entry.rfind(':');
    std::string place = entry.substr(0, colon);
    auto it = std::find(chosen.begin(), chosen.end(), place);
    if (it == chosen.end()) {
      Fail(kGraphInvalid, "build-output-type",
           "E10001: output_type gives a type for '{}', which out_nodes does not name; name it "
           "in both",
           place);
    }
    size_t number = static_cast<size_t>(it - chosen.begin());
    ConvertOutput(graph, graph.outputs[number],
                  TypeOfName(colon == std::string::npos ? entry : entry.substr(colon + 1)));
  }
}

void TakeHalfInputs(Graph& graph, const std::string& names) {
  for (const std::string& name : NamesIn(names)) {
    const int place = graph.FindInput(name);
    if (place < 0) {
      Fail(kGraphInvalid, "build-input-fp16",
           "E10001: input_fp16_nodes names '{}', but the model has no such input", name);
    }
    const int input = graph.inputs[static_cast<size_t>(place)];
    Port from{input, 0};
    size_t before = graph.nodes.size();
    ValueType& type = graph.nodes[static_cast<size_t>(input)].types[0];
    DType used = type.dtype;
    type.dtype = DType::kF16;
    Port converted{AddCast(graph, from, name + "_from_fp16", used), 0};
    for (size_t n = 0; n < before; ++n)
      std::replace(graph.nodes[n].inputs.begin(), graph.nodes[n].inputs.end(), from, converted);
    for (GraphOutput& output : graph.outputs) {
      if (output.port == from) output.port = converted;
    }
  }
}

}  // namespace belay::graph
