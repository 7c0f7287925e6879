#include "atc/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "atc/single_ops.h"
#include "base/error.h"
#include "base/whole_file.h"
#include "graph/build_model.h"
#include "graph/model_edits.h"
#include "graph/om/text.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/read_model.h"
#include "graph/operator_list.h"
#include "graph/option_table.h"
#include "graph/program.h"
#include "graph/size_range.h"
#include "graph/specialise.h"

namespace atc {
namespace {

using belay::Fail;
namespace graph = belay::graph;

// What atc is told and GE has a name for. The two precision modes exclude each other, so that a default is
// none.
graph::BuildOptions BuildOptionsOf(const Options& options) {
  graph::BuildOptions build;
  for (const graph::OptionRow& row : graph::AllOptions()) {
    const bool both = *row.key != '\0' && *row.flag != '\0' && row.use == graph::AtcUse::kUsed;
    const bool other = row.flag == std::string_view("precision_mode") && options.Has("precision_mode_v2") &&
                       !options.Has("precision_mode");
    if (both && !other && !options.Get(row.flag).empty()) build[row.key] = options.Get(row.flag);
  }
  return build;
}

// aclgrphBuildModel overlooks names that are no inputs, because its callers pass those of a whole network.
void CheckInputNames(const Options& options, const graph::Graph& graph) {
  std::set<std::string> inputs;
  for (int input : graph.inputs) inputs.insert(graph.nodes[static_cast<size_t>(input)].name);
  for (const graph::InputShape& shape : graph::ReadInputShapes(graph, options.Get("input_shape"))) {
    if (shape.input >= 0) continue;
    Fail(100000, "atc-input-name",
         "E10016: --input_shape names '{}', but the model has no such input; it has {}", shape.name,
         fmt::join(inputs, ", "));
  }
}

std::string Needed(const Options& options, const char* name) {
  std::string value = options.Get(name);
  if (value.empty()) Fail(100000, "atc-option-missing", "E10004: option --{} is needed", name);
  return value;
}

// `file`: the option that names the model.
graph::Graph ImportModel(const Options& options, const char* file = "model") {
  std::string framework = Needed(options, "framework");
  if (framework != "5") {
    Fail(200001, "atc-framework",
         "E10001: --framework is {}; only 5 (ONNX) is supported. Export the model to ONNX", framework);
  }
  std::filesystem::path path = Needed(options, file);
  if (std::filesystem::is_directory(path))
    Fail(100000, "atc-input-file", "E10001: --{} is '{}', a folder; name the ONNX file in it", file,
         path.string());
  std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  graph::onnx::ModelData model = graph::onnx::ReadModelFile(path.string());
  if (options.Has("out_nodes")) graph::ChooseOutputs(model, options.Get("out_nodes"));
  graph::Graph graph = graph::onnx::Import(model, folder);
  if (options.Has("output_type"))
    graph::ConvertOutputs(graph, options.Get("output_type"), options.Get("out_nodes"));
  if (options.Has("input_fp16_nodes")) graph::TakeHalfInputs(graph, options.Get("input_fp16_nodes"));
  CheckInputNames(options, graph);
  return graph;
}

graph::ModelFile OpenModel(const Options& options) { return graph::ReadModelFile(Needed(options, "om")); }

void WriteText(const std::string& path, const belay::Json& json) {
  std::string text = json.Dump(2) + "\n";
  if (auto failure = belay::WriteWholeFile(path, text))
    Fail(100004, "atc-write", "'{}' cannot be written: {}", path, failure->reason);
}

void PrintPorts(const char* what, const std::vector<graph::ModelPort>& ports) {
  for (size_t i = 0; i < ports.size(); ++i) {
    std::puts(fmt::format("{} {}: {} {}", what, i, ports[i].name, ports[i].type.ToString()).c_str());
  }
}

void PrintProgram(const graph::Graph& graph) {
  graph::Program program(graph);
  PrintPorts("output", program.outputs());
  const graph::MemoryPlan& memory = program.memory();
  std::puts(fmt::format("kernels: {}", program.kernels().size()).c_str());
  std::puts(fmt::format("work memory: {} bytes, {:.2f} x the most that is alive at once", memory.bytes,
                        memory.lower_bound == 0
                            ? 1.0
                            : static_cast<double>(memory.bytes) / static_cast<double>(memory.lower_bound))
                .c_str());
  std::puts(fmt::format("constants: {} bytes", program.weight_bytes()).c_str());
}

}  // namespace

void Compile(const Options& options, Progress& progress) {
  std::string output = Needed(options, "output");
  const graph::BuildOptions build = BuildOptionsOf(options);
  graph::CheckBuildOptions(build);
  if (options.Has("singleop")) {
    if (options.Has("model") || options.Has("framework")) {
      Fail(100000, "atc-exclusive",
           "E10047: --singleop describes operators, so there is no --model and no --framework");
    }
    progress.Step("compiling operators");
    return CompileSingleOps(options.Get("singleop"), output);
  }
  if (output.ends_with('/')) {
    Fail(100000, "atc-output-name",
         "E10001: --output is '{}', a folder; add the name of the file, without .om", output);
  }
  progress.Step("reading the model");
  graph::Graph graph = ImportModel(options);
  if (options.Has("keep_dtype")) graph::KeepTypes(graph, options.Get("keep_dtype"));
  progress.Step(fmt::format("compiling {} nodes", graph.nodes.size()));
  graph::ModelFile file = graph::BuildModel(graph, build);
  progress.Step("writing " + output + ".om");
  graph::ModelBytes bytes = graph::WriteModel(file);
  graph::SaveModel(output + ".om", bytes.data.get(), bytes.size);
}

void WriteJson(const Options& options) {
  graph::ModelFile file;
  if (options.Has("framework")) {
    file.graph = ImportModel(options, options.Has("om") ? "om" : "model");
  } else {
    file = OpenModel(options);
  }
  std::string path = Needed(options, "json");
  WriteText(path, graph::om::Writer().Write(file));
}

void Check(const Options& options) {
  std::string path = options.Get("check_report");
  auto report = [&](belay::Json::Members result) { WriteText(path, std::move(result)); };
  try {
    graph::BuildModel(ImportModel(options), BuildOptionsOf(options));
  } catch (const belay::Error& error) {
    report({{"result", "failed"}, {"reason", error.sentence()}});
    throw;
  }
  report({{"result", "success"}});
}

void ShowInfo(const Options& options) {
  graph::ModelFile file = OpenModel(options);
  for (const auto& [key, value] : file.options) std::puts(fmt::format("option {}: {}", key, value).c_str());
  std::vector<graph::ValueType> types = graph::InputTypes(file.graph);
  for (size_t i = 0; i < types.size(); ++i) {
    const graph::Node& node = file.graph.nodes[static_cast<size_t>(file.graph.inputs[i])];
    std::puts(fmt::format("input {}: {} {}", i, node.name, types[i].ToString()).c_str());
  }
  for (const auto& gear : file.gears.values) std::puts(fmt::format("gear: {}", fmt::join(gear, ",")).c_str());
  std::map<std::string, int> operators;
  for (const graph::Node& node : file.graph.nodes) ++operators[node.type];
  for (const auto& [type, count] : operators) std::puts(fmt::format("operator {}: {}", type, count).c_str());
  if (!graph::AllConcrete(types)) return;
  graph::Specialised specialised = graph::Specialise(file.graph, types);
  if (specialised.dynamic_at.empty()) {
    PrintProgram(specialised.graph);
  } else {
    std::puts(fmt::format("the data decides the shape of node '{}': the model is interpreted from there",
                          specialised.dynamic_at)
                  .c_str());
  }
}

}  // namespace atc
