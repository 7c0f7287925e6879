#include "parser/onnx_parser.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/ge_api_types.h"
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

// What is for TensorFlow's models, or for the layout of a card, may be said and changes nothing.
void CheckOption(const std::string& key, const std::string& value) {
  constexpr std::string_view kNoLayouts[] = {ir_option::IS_INPUT_ADJUST_HW_LAYOUT,
                                             ir_option::IS_OUTPUT_ADJUST_HW_LAYOUT};
  if (std::ranges::find(kNoLayouts, key) != std::end(kNoLayouts)) {
    if (belay::graph::Wanted(*belay::graph::FindFlag(key), value).empty()) return;
    Fail(kBadArgument, "build-parser-option",
         "option {} of the ONNX parser is '{}'; it is false here: NC1HWC0 is a layout of a card", key, value);
  }
  constexpr std::string_view kKnown[] = {ir_option::OUT_NODES, ir_option::INPUT_FP16_NODES, ir_option::OUTPUT,
                                         ir_option::ENABLE_SCOPE_FUSION_PASSES, ir_option::INPUT_DATA_NAMES};
  if (std::ranges::find(kKnown, key) != std::end(kKnown)) return;
  Fail(kBadArgument, "build-parser-option", "there is no option {} of the ONNX parser", key);
}

void Parse(belay::graph::onnx::ModelData model, const std::string& folder,
           const std::map<AscendString, AscendString>& params, Graph& graph) {
  Options options = OptionsOf(params);
  for (const auto& [key, value] : options) {
    if (!value.empty()) CheckOption(key, value);
  }
  if (!options[ir_option::OUT_NODES].empty())
    belay::graph::ChooseOutputs(model, options[ir_option::OUT_NODES]);
  belay::graph::Graph read = belay::graph::onnx::Import(model, folder);
  if (!options[ir_option::INPUT_FP16_NODES].empty())
    belay::graph::TakeHalfInputs(read, options[ir_option::INPUT_FP16_NODES]);
  GraphImpl& impl = GraphImpl::Of(graph);
  impl.Adopt(std::move(read));
  if (!options[ir_option::OUTPUT].empty()) impl.name = options[ir_option::OUTPUT];
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
