// belay graph: draws a compiled model. A program of its own, because it is linked with the compiler.
#include <signal.h>

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/whole_file.h"
#include "belay_graph/capture.h"
#include "belay_graph/picture.h"
#include "graph/build_model.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/read_model.h"
#include "graph/size_range.h"
#include "graph/specialise.h"

namespace belay::graph_tool {
namespace {

struct Options {
  std::string model;
  std::string format = "text";
  std::string output;
  std::string input_shape;
  bool run = false;
  int runs = 10;
};

graph::ModelFile Read(const Options& options) {
  std::filesystem::path path = options.model;
  if (path.extension() != ".onnx") return graph::ReadModelFile(options.model);
  std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  graph::BuildOptions build;
  if (!options.input_shape.empty()) build["input_shape"] = options.input_shape;
  return graph::BuildModel(graph::onnx::Import(graph::onnx::ReadModelFile(options.model), folder), build);
}

// The types of the inputs, with sizes that the file leaves open filled in.
std::vector<graph::ValueType> InputTypes(const graph::Graph& graph, const Options& options) {
  std::vector<graph::ValueType> types = graph::InputTypes(graph);
  auto name = [&](size_t i) { return graph.nodes[static_cast<size_t>(graph.inputs[i])].name; };
  for (const graph::InputShape& given : graph::ReadInputShapes(graph, options.input_shape)) {
    if (given.input < 0) {
      std::vector<std::string> names;
      for (size_t i = 0; i < types.size(); ++i) names.push_back(name(i));
      throw std::invalid_argument(
          fmt::format("--input-shape names '{}', but the model has no such input; it has {}", given.name,
                      fmt::join(names, ", ")));
    }
    const auto i = static_cast<size_t>(given.input);
    const tensor::Shape shape = graph::ShapeOf(given.sizes);
    if (!graph::Admits(types[i], shape)) {
      throw std::invalid_argument("--input-shape gives input '" + name(i) + "' the shape " +
                                  shape.ToString() + ", but it is " + types[i].ToString());
    }
    types[i].shape = shape;
    types[i].rank_known = true;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].concrete()) continue;
    throw std::invalid_argument("input '" + name(i) + "' is " + types[i].ToString() +
                                "; say which sizes to draw it for: --input-shape \"" + name(i) +
                                ":1,3,224,224\"");
  }
  graph::NeedSizesInRange(graph, types);
  return types;
}

// A graph with open sizes was not optimised when it was compiled: that is done when they are known, here as
// when it runs.
void FillIn(graph::ModelFile& file, const std::vector<graph::ValueType>& types) {
  if (graph::AllConcrete(graph::InputTypes(file.graph))) return;
  graph::Specialised specialised = graph::Specialise(file.graph, types, graph::Purpose::kTypes);
  if (!specialised.dynamic_at.empty()) return;
  file.graph = std::move(specialised.graph);
  graph::OptimiseFor(file.options, file.graph);
}

std::string Written(const Picture& picture, const std::string& format) {
  if (format == "dot") return WriteDot(picture);
  return format == "svg" ? WriteSvg(picture) : WriteText(picture);
}

std::string DrawCapture(const Options& options, const std::string& text) {
  if (options.run || !options.input_shape.empty())
    throw std::invalid_argument(
        "a captured graph has no sizes to fill in, and is not run: what it works on was the program's");
  return Written(PictureOfCapture(text), options.format);
}

std::string Draw(const Options& options) {
  if (std::filesystem::path(options.model).extension() == ".json") {
    std::ifstream file(options.model, std::ios::binary);
    return DrawCapture(options, {std::istreambuf_iterator<char>(file), {}});
  }
  graph::ModelFile file = Read(options);
  std::vector<graph::ValueType> types = InputTypes(file.graph, options);
  FillIn(file, types);
  Picture picture = MakePicture(file.graph, types, {options.run ? options.runs : 0, RoofPath()});
  if (options.run && picture.runs == 0)
    throw std::invalid_argument("this model has no kernels to time: " + picture.note);
  if (picture.name.empty()) picture.name = std::filesystem::path(options.model).stem().string();
  return Written(picture, options.format);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Draws a compiled model or a captured graph: its fused nodes, the sizes of what flows between them, where the "
      "memory plan puts it, and "
      "how long each takes.",
      "belay graph");
  app.add_option(
         "model", options.model,
         "A .om file of Belay, an .onnx file, which is compiled first, or a .json file of aclmdlRIDebugJsonPrint")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--format", options.format, "text, dot (for graphviz) or svg")
      ->check(CLI::IsMember({"text", "dot", "svg"}))
      ->capture_default_str();
  app.add_option("-o,--output", options.output, "The file to write, instead of standard output");
  app.add_option("--input-shape", options.input_shape,
                 "\"name:1,3,224,224;other:4\": sizes that the model leaves open");
  app.add_flag("--run", options.run,
               "Run it and tell the time of each node (BELAY_WORKERS says with how many cores)");
  app.add_option("--runs", options.runs, "How many times to run it; medians are told")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::string text = Draw(options);
  if (options.output.empty()) {
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  if (auto failure = WriteWholeFile(options.output, text))
    throw std::runtime_error("cannot write " + options.output + ": " + failure->reason);
  return 0;
}

}  // namespace
}  // namespace belay::graph_tool

int main(int argc, char** argv) {
  signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is an error with words
  try {
    return belay::graph_tool::Main(argc, argv);
  } catch (const belay::Error& error) {
    std::fprintf(stderr, "belay graph: %s\n", error.sentence().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "belay graph: %s\n", error.what());
  }
  return 1;
}
