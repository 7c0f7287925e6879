#include "graph/build_model.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/error.h"
#include "graph/aipp/insert.h"
#include "graph/codes.h"
#include "graph/model_edits.h"
#include "graph/option_table.h"
#include "graph/option_text.h"
#include "graph/passes/passes.h"
#include "graph/size_range.h"
#include "graph/specialise.h"

namespace belay::graph {
namespace {

std::vector<std::vector<int64_t>> ParseGears(std::string_view key, std::string_view text, char between) {
  std::vector<std::vector<int64_t>> gears;
  for (std::string_view gear : SplitFilled(text, between)) {
    std::vector<int64_t>& values = gears.emplace_back();
    for (std::string_view part : SplitFilled(gear, ',')) {
      if (!ParseInt(part, &values.emplace_back()) || values.back() <= 0)
        BadOption(key, text, "gears are positive numbers");
    }
  }
  auto bad = [&](const char* code, const char* what) {
    Fail(kGraphInvalid, "build-gears", "{}: {} '{}' {}; there are 2 to 100 different ones", code, key, text,
         what);
  };
  if (gears.size() < 2) bad("E10035", "has fewer than two gears");
  if (gears.size() > 100) bad("E10036", "has more than a hundred gears");
  if (std::set(gears.begin(), gears.end()).size() != gears.size()) bad("E10039", "has a gear twice");
  return gears;
}

std::string_view OptionOf(const BuildOptions& options, const char* key, const char* other = "") {
  auto it = options.find(key);
  if (it == options.end()) it = options.find(other);
  return it == options.end() ? std::string_view() : it->second;
}

// What a card computes in half precision by these options; other values than these change nothing, since
// Belay computes in the types of the model.
bool MayRoundToBfloat16(const BuildOptions& options) {
  const std::string_view mode = OptionOf(options, "ge.exec.precision_mode");
  return mode == "allow_mix_precision" || mode == "allow_mix_precision_bf16" ||
         OptionOf(options, "ge.exec.precision_mode_v2") == "mixed_bfloat16";
}

Gears GearsOf(const BuildOptions& options) {
  std::string_view batch = OptionOf(options, "ge.dynamicBatchSize"),
                   image = OptionOf(options, "ge.dynamicImageSize"),
                   dims = OptionOf(options, "ge.dynamicDims");
  if (!batch.empty() + !image.empty() + !dims.empty() > 1) {
    Fail(kGraphInvalid, "build-gears",
         "E10009: only one of dynamic_batch_size, dynamic_image_size and dynamic_dims may be given");
  }
  if (batch.size() + image.size() + dims.size() > 0 && !OptionOf(options, "input_shape_range").empty())
    Fail(kGraphInvalid, "build-gears", "E10047: gears and input_shape_range exclude one another");
  if (!batch.empty()) return {Gears::kBatch, ParseGears("dynamic_batch_size", batch, ',')};
  if (!image.empty()) return {Gears::kImage, ParseGears("dynamic_image_size", image, ';')};
  if (!dims.empty()) return {Gears::kDims, ParseGears("dynamic_dims", dims, ';')};
  return {};
}

// Each gear must have a number for whatever input_shape leaves open, and something must be open.
void CheckGears(const Gears& gears, const Graph& graph) {
  if (gears.kind == Gears::kNone) return;
  size_t open = 0;
  for (int input : graph.inputs) {
    const Node& node = graph.nodes[static_cast<size_t>(input)];
    if (HasBounds(node)) {
      Fail(
          kGraphInvalid, "build-gears",
          "E10047: gears and ranges exclude one another; write -1 for the sizes of input '{}' that gears decide",
          node.name);
    }
    const Shape& shape = node.types[0].shape;
    const auto here = static_cast<size_t>(std::count(shape.begin(), shape.end(), kUnknownDim));
    open += here;
    const bool fits = gears.kind == Gears::kBatch   ? here == 0 || (here == 1 && shape[0] == kUnknownDim)
                      : gears.kind == Gears::kImage ? here == 0 || here == 2
                                                    : true;
    if (fits) continue;
    Fail(kGraphInvalid, "build-gears", "E10012: {} must be -1 in input_shape, but input '{}' is {}",
         gears.kind == Gears::kBatch ? "for batch sizes the first size alone"
                                     : "for image sizes height and width",
         node.name, node.types[0].ToString());
  }
  if (open == 0) {
    Fail(kGraphInvalid, "build-gears",
         "E10012: gears are for sizes that are open, but no input has any; put -1 in input_shape");
  }
  const size_t numbers = gears.kind == Gears::kBatch ? 1 : gears.kind == Gears::kImage ? 2 : open;
  for (const std::vector<int64_t>& gear : gears.values) {
    if (gear.size() == numbers) continue;
    Fail(kGraphInvalid, "build-gears", "E10042: the gear {} has {} numbers, but {} sizes are open",
         Shape::Of(gear.data(), static_cast<int>(std::min<size_t>(gear.size(), tensor::kMaxRank))).ToString(),
         gear.size(), numbers);
  }
}

// "name:[1~4,3,-1];other:[2]": the form of input_shape without the brackets.
std::string WithoutBrackets(std::string_view ranges) {
  std::string shapes;
  for (std::string_view entry : SplitFilled(ranges, ';')) {
    const size_t bracket = entry.find(":[");
    if (bracket == std::string_view::npos || entry.back() != ']')
      BadOption("input_shape_range", ranges, "write \"input_name1:[n1~n2,c1,h1,w1];input_name2:[n2,c2]\"");
    shapes += std::string(entry.substr(0, bracket + 1)) + std::string(entry.substr(bracket + 2));
    shapes.back() = ';';
  }
  return shapes;
}

// Which outputs the graph has, and in which types its tensors are taken and given.
void Edit(Graph& graph, const BuildOptions& options) {
  const std::string chosen(OptionOf(options, "ge.outputNodeName")),
      type(OptionOf(options, "ge.outputDatatype")), half(OptionOf(options, "ge.INPUT_NODES_SET_FP16"));
  if (!chosen.empty()) ChooseOutputs(graph, chosen);
  if (!type.empty()) ConvertOutputs(graph, type, chosen.empty() ? OutNodesOf(graph) : chosen);
  if (!half.empty()) TakeHalfInputs(graph, half);
}

}  // namespace

bool IsBuildOption(std::string_view key) { return FindOption(key) != nullptr; }

void CheckBuildOptions(const BuildOptions& options) {
  for (const auto& [key, value] : options) {
    const OptionRow* option = FindOption(key);
    if (option == nullptr) BadOption(key, value, "there is no such option");
    if (value.empty()) continue;  // as if it were not given
    if (const std::string wanted = Wanted(*option, value); !wanted.empty()) {
      Fail(kGraphInvalid, "build-option", "{}: option {} has the value '{}': it must be {}",
           ErrorCodeOf(*option), key, value, wanted);
    }
  }
  if (!OptionOf(options, "ge.exec.precision_mode").empty() &&
      !OptionOf(options, "ge.exec.precision_mode_v2").empty())
    Fail(kGraphInvalid, "build-option", "E10047: precision_mode and precision_mode_v2 exclude one another");
}

void OptimiseFor(const BuildOptions& options, Graph& specialised) {
  Optimise(specialised);
  if (MayRoundToBfloat16(options)) ComputeInBfloat16(specialised);
}

ModelFile BuildModel(const Graph& from, const BuildOptions& options) {
  CheckBuildOptions(options);
  ModelFile file{from, GearsOf(options), options};
  Edit(file.graph, options);
  SortNodes(file.graph);
  ApplyInputShapes(file.graph, OptionOf(options, "input_shape", "ge.inputShape"));
  ApplyInputShapes(file.graph, WithoutBrackets(OptionOf(options, "input_shape_range")));
  CheckGears(file.gears, file.graph);
  std::string aipp(OptionOf(options, "ge.insertOpFile"));
  if (!aipp.empty()) InsertAipp(file.graph, ReadAippFile(aipp), file.gears.kind);
  FindQuantised(file.graph);
  if (std::vector<ValueType> types = InputTypes(file.graph); AllConcrete(types)) {
    file.graph = Specialise(file.graph, types).graph;
    OptimiseFor(options, file.graph);
    PackWeights(file.graph);
  }
  RemoveDeadNodes(file.graph);
  return file;
}

}  // namespace belay::graph
