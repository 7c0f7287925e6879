#include "parser/onnx_parser.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/graph_impl.h"
#include "ge/guard.h"
#include "ge/options.h"
#include "graph/model_edits.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/read_model.h"
#include "graph/option_table.h"

namespace ge {
namespace {

using belay::Fail;
using namespace belay::graph_interface;  // NOLINT

constexpr const char* kOutNodes = "ge.outputNodeName";
constexpr const char* kHalfInputs = "ge.INPUT_NODES_SET_FP16";
constexpr const char* kName = "output";

// What is for TensorFlow's models, or for the layout of a card, may be said and changes nothing.
void CheckOption(const std::string& key, const std::string& value) {
  constexpr std::string_view kNoLayouts[] = {"is_input_adjust_hw_layout", "is_output_adjust_hw_layout"};
  if (std::ranges::find(kNoLayouts, key) != std::end(kNoLayouts)) {
    if (belay::graph::Wanted(*belay::graph::FindFlag(key), value).empty()) return;
    Fail(kBadArgument, "build-parser-option",
         "option {} of the ONNX parser is '{}'; it is false here: NC1HWC0 is a layout of a card", key, value);
  }
  constexpr std::string_view kKnown[] = {kOutNodes, kHalfInputs, kName, "enable_scope_fusion_passes",
                                         "input_data_names"};
  if (std::ranges::find(kKnown, key) != std::end(kKnown)) return;
  Fail(kBadArgument, "build-parser-option", "there is no option {} of the ONNX parser", key);
}

void Parse(belay::graph::onnx::ModelData model, const std::string& folder,
           const std::map<AscendString, AscendString>& params, Graph& graph) {
  Options options = OptionsOf(params);
  for (const auto& [key, value] : options) {
    if (!value.empty()) CheckOption(key, value);
  }
  if (!options[kOutNodes].empty()) belay::graph::ChooseOutputs(model, options[kOutNodes]);
  belay::graph::Graph read = belay::graph::onnx::Import(model, folder);
  if (!options[kHalfInputs].empty()) belay::graph::TakeHalfInputs(read, options[kHalfInputs]);
  GraphImpl& impl = GraphImpl::Of(graph);
  impl.Adopt(std::move(read));
  if (!options[kName].empty()) impl.name = options[kName];
}

}  // namespace

graphStatus aclgrphParseONNX(const char* model_file,
                             const std::map<AscendString, AscendString>& parser_params, Graph& graph) {
  return Guarded("aclgrphParseONNX", [&] {
    if (model_file == nullptr) Fail(kBadArgument, "ge-null", "model_file is null");
    std::string folder = std::filesystem::path(model_file).parent_path().string();
    Parse(belay::graph::onnx::ReadModelFile(model_file), folder.empty() ? "." : folder, parser_params, graph);
  });
}

graphStatus aclgrphParseONNXFromMem(const char* buffer, size_t size,
                                    const std::map<AscendString, AscendString>& parser_params, Graph& graph) {
  return Guarded("aclgrphParseONNXFromMem", [&] {
    if (buffer == nullptr) Fail(kBadArgument, "ge-null", "buffer is null");
    Parse(belay::graph::onnx::ReadModel({buffer, size}), "", parser_params, graph);
  });
}

}  // namespace ge
