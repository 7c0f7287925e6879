// Reading ONNX models as graphs.
#pragma once

#include <cstddef>
#include <map>

#include "../graph/ascend_string.h"
#include "../graph/ge_error_codes.h"
#include "../graph/graph.h"

namespace ge {

// Reads a model. GRAPH_FAILED: aclGetRecentErrMsg says why; an operator that is not supported is named
// with its node, domain and opset. Options: "output" names the graph; others are refused.
__attribute__((visibility("default"))) graphStatus aclgrphParseONNX(
    const char* model_file, const std::map<ge::AscendString, ge::AscendString>& parser_params, ge::Graph& graph);
__attribute__((visibility("default"))) graphStatus aclgrphParseONNXFromMem(
    const char* buffer, size_t size, const std::map<ge::AscendString, ge::AscendString>& parser_params, ge::Graph& graph);

}  // namespace ge
