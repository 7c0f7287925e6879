#include "graph/build_model.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/error.h"
#include "graph/aipp/insert.h"
#include "graph/codes.h"
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

// What the compiler of a card uses and Belay has no use for; accepted, so that command lines work.
bool HasNoEffect(std::string_view key) {
  // clang-format off
  static const auto* keys = new std::set<std::string, std::less<>>{
      "ge.socVersion", "ge.exec.deviceId", "ge.graphRunMode", "ge.session_device_id", "ge.exec.op_precision_mode",
      "ge.exec.modify_mixlist", "ge.exec.allow_hf32", "ge.deterministic", "ge.deterministicLevel",
      "ge.opSelectImplmode", "ge.optypelistForImplmode", "ge.engineType", "ge.bufferOptimize",
      "ge.enableCompressWeight", "compress_weight_conf", "ge.enableSingleStream", "input_format", "output", "log",
      "ge.streamNum", "ge.headStream", "ge.perfLevel", "ge.encryptMode", "ge.frameworkType",
      "ge.op_compiler_cache_mode", "ge.op_compiler_cache_dir", "ge.debugDir", "ge.opDebugLevel",
      "ge.shape_generalized_build_mode", "ge.performance_mode", "ge.build_inner_model", "ge.disableOptimizations",
      "ge.jit_compile", "ge.featureBaseRefreshable", "ge.exec.staticMemoryPolicy", "ge.exec.atomicCleanPolicy",
      "ge.exec.reuseZeroCopyMemory", "ge.exec.disableReuseMemory", "ge.autoTuneMode", "ge.aicoreNum",
      "ge.enableSmallChannel", "ge.fusionSwitchFile", "ge.mdl_bank_path", "ge.op_bank_path", "ge.externalWeight",
      "ge.display_model_info", "ge.customizeDtypes", "ge.exec.precision_mode", "ge.exec.precision_mode_v2"};
  // clang-format on
  return keys->count(key) != 0;
}

bool HasEffect(std::string_view key) {
  static const auto* keys = new std::set<std::string, std::less<>>{
      "input_shape",         "ge.inputShape",  "input_shape_range",  "ge.dynamicBatchSize",
      "ge.dynamicImageSize", "ge.dynamicDims", "ge.dynamicNodeType", "ge.insertOpFile"};
  return keys->count(key) != 0;
}

// What a card's compiler does to the graph that it is given, and atc here does to an ONNX file.
const char* WhyNot(std::string_view key) {
  if (key == "ge.outputNodeName") return "it is not supported here; atc has --out_nodes";
  if (key == "ge.outputDatatype") return "it is not supported here; atc has --output_type";
  if (key == "ge.INPUT_NODES_SET_FP16") return "it is not supported here; atc has --input_fp16_nodes";
  return "there is no such option";
}

std::string_view Value(const BuildOptions& options, const char* key, const char* other = "") {
  auto it = options.find(key);
  if (it == options.end()) it = options.find(other);
  return it == options.end() ? std::string_view() : it->second;
}

// The name is only kept, but one that is misspelt would not be taken elsewhere.
void CheckSocVersion(std::string_view name) {
  static constexpr std::string_view kFamilies[] = {"Ascend031", "Ascend035", "Ascend310", "Ascend610",
                                                   "Ascend615", "Ascend910", "Ascend950", "BS9SX",
                                                   "Hi3796",    "SD3403"};
  auto begins = [&](std::string_view family) { return name.substr(0, family.size()) == family; };
  if (name.empty() || std::any_of(std::begin(kFamilies), std::end(kFamilies), begins)) return;
  BadOption("soc_version", name, "there is no such processor; it is a name like Ascend910B3 or Ascend310P3");
}

// What a card computes in half precision by this option; values of the option that Belay has no use for are
// accepted, since it computes in the types of the model.
bool MayRoundToBfloat16(const BuildOptions& options) {
  static const auto* modes = new std::set<std::string, std::less<>>{"",
                                                                    "force_fp16",
                                                                    "force_fp32",
                                                                    "cube_fp16in_fp32out",
                                                                    "allow_fp32_to_fp16",
                                                                    "allow_fp32_to_bf16",
                                                                    "must_keep_origin_dtype",
                                                                    "allow_mix_precision",
                                                                    "allow_mix_precision_fp16",
                                                                    "allow_mix_precision_bf16"};
  static const auto* newer = new std::set<std::string, std::less<>>{
      "",          "fp16",      "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16",
      "cube_hif8", "mixed_hif8"};
  std::string_view mode = Value(options, "ge.exec.precision_mode"),
                   mode_v2 = Value(options, "ge.exec.precision_mode_v2");
  if (modes->count(mode) == 0) BadOption("precision_mode", mode, "there is no such mode");
  if (newer->count(mode_v2) == 0) BadOption("precision_mode_v2", mode_v2, "there is no such mode");
  return mode == "allow_mix_precision" || mode == "allow_mix_precision_bf16" || mode_v2 == "mixed_bfloat16";
}

Gears GearsOf(const BuildOptions& options) {
  std::string_view batch = Value(options, "ge.dynamicBatchSize"),
                   image = Value(options, "ge.dynamicImageSize"), dims = Value(options, "ge.dynamicDims");
  if (!batch.empty() + !image.empty() + !dims.empty() > 1) {
    Fail(kGraphInvalid, "build-gears",
         "E10009: only one of dynamic_batch_size, dynamic_image_size and dynamic_dims may be given");
  }
  if (batch.size() + image.size() + dims.size() > 0 && !Value(options, "input_shape_range").empty())
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

}  // namespace

bool IsBuildOption(std::string_view key) { return HasEffect(key) || HasNoEffect(key); }

void CheckBuildOptions(const BuildOptions& options) {
  for (const auto& [key, value] : options) {
    if (!IsBuildOption(key)) BadOption(key, value, WhyNot(key));
  }
  CheckSocVersion(Value(options, "ge.socVersion"));
  MayRoundToBfloat16(options);  // refuses modes that do not exist
  if (!Value(options, "ge.exec.precision_mode").empty() &&
      !Value(options, "ge.exec.precision_mode_v2").empty())
    Fail(kGraphInvalid, "build-option", "E10047: precision_mode and precision_mode_v2 exclude one another");
}

void OptimiseFor(const BuildOptions& options, Graph& specialised) {
  Optimise(specialised);
  if (MayRoundToBfloat16(options)) ComputeInBfloat16(specialised);
}

ModelFile BuildModel(const Graph& from, const BuildOptions& options) {
  CheckBuildOptions(options);
  ModelFile file{from, GearsOf(options), options};
  SortNodes(file.graph);
  ApplyInputShapes(file.graph, Value(options, "input_shape", "ge.inputShape"));
  ApplyInputShapes(file.graph, WithoutBrackets(Value(options, "input_shape_range")));
  CheckGears(file.gears, file.graph);
  std::string aipp(Value(options, "ge.insertOpFile"));
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
