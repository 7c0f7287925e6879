// TensorFlow models are not supported: these fail and say so. Convert them to ONNX.
#pragma once

#include <map>

#include "../graph/ascend_string.h"
#include "../graph/ge_error_codes.h"
#include "../graph/graph.h"

namespace ge {

__attribute__((visibility("default"))) graphStatus aclgrphParseTensorFlow(const char* model_file, ge::Graph& graph);
__attribute__((visibility("default"))) graphStatus aclgrphParseTensorFlow(
    const char* model_file, const std::map<ge::AscendString, ge::AscendString>& parser_params, ge::Graph& graph);

}  // namespace ge
