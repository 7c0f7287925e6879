#include "parser/onnx_parser.h"

#include <filesystem>
#include <string>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/graph_impl.h"
#include "ge/guard.h"
#include "ge/options.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/read_model.h"

namespace ge {
namespace {

using belay::Fail;
using namespace belay::graph_interface;  // NOLINT

void Parse(const belay::graph::onnx::ModelData& model, const std::string& folder,
           const std::map<AscendString, AscendString>& params, Graph& graph) {
  std::string name;
  for (const auto& [key, value] : OptionsOf(params)) {
    if (key != "output") {
      Fail(kBadArgument, "build-parser-option",
           "option {} of the ONNX parser is not supported; \"output\" names the graph", key);
    }
    name = value;
  }
  belay::graph::Graph read = belay::graph::onnx::Import(model, folder);
  GraphImpl& impl = GraphImpl::Of(graph);
  impl.Adopt(std::move(read));
  if (!name.empty()) impl.name = name;
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
