// Reading ONNX models as graphs.
#pragma once

#include <cstddef>
#include <map>

#include "../graph/ascend_string.h"
#include "../graph/ge_error_codes.h"
#include "../graph/graph.h"

namespace ge {

// Reads a model. GRAPH_FAILED: aclGetRecentErrMsg says why; an operator that is not supported is named
// with its node, domain and opset. Options (ge::ir_option): OUTPUT names the graph; OUT_NODES chooses its outputs, as
// "node:0;node:1" or by names of tensors; INPUT_FP16_NODES names inputs that are given as FLOAT16.
// IS_INPUT_ADJUST_HW_LAYOUT and IS_OUTPUT_ADJUST_HW_LAYOUT are false; unknown ones are refused.
__attribute__((visibility("default"))) graphStatus aclgrphParseONNX(
    const char* model_file, const std::map<ge::AscendString, ge::AscendString>& parser_params, ge::Graph& graph);
__attribute__((visibility("default"))) graphStatus aclgrphParseONNXFromMem(
    const char* buffer, size_t size, const std::map<ge::AscendString, ge::AscendString>& parser_params, ge::Graph& graph);

}  // namespace ge
