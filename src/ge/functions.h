// The functions of the graph interface by the names that messages, tasks and timelines have for them.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/call.h"

namespace belay::graph_interface {

inline constexpr const char* kFunctions[] = {
    "GEInitialize",
    "GEFinalize",
    "Session",
    "~Session",
    "Session::AddGraph",
    "Session::RemoveGraph",
    "Session::LoadGraph",
    "Session::CompileGraph",
    "Session::BuildGraph",
    "Session::IsGraphNeedRebuild",
    "Session::GetCompiledGraphSummary",
    "Session::RunGraph",
    "Session::RunGraphAsync",
    "Session::RunGraphWithStreamAsync",
    "Session::RunGraphDistribute",
    "Session::SetGraphConstMemoryBase",
    "Session::UpdateGraphFeatureMemoryBase",
    "Session::UpdateGraphRefreshableFeatureMemoryBase",
    "Session::SetGraphFixedFeatureMemoryBase",
    "Session::SetGraphFixedFeatureMemoryBaseWithType",
    "Session::RegisterExternalAllocator",
    "Session::UnregisterExternalAllocator",
    "Session::GetVariables",
    "Session::RegisterCallBackFunc",
    "Session::ShardGraphsToFile",
    "Session::SaveGraphsToPb",
    "Graph::SetInputs",
    "Graph::SetOutputs",
    "Graph::SetTargets",
    "Graph::AddOp",
    "Graph::AddNodeByOp",
    "Graph::AddDataEdge",
    "Graph::AddControlEdge",
    "Graph::RemoveNode",
    "Graph::RemoveEdge",
    "Graph::GetAllNodes",
    "Graph::GetDirectNode",
    "Graph::CopyFrom",
    "Graph::SaveToFile",
    "Graph::LoadFromFile",
    "Graph::LoadFromSerializedModelArray",
    "InferShapeAndType",
    "aclgrphBuildInitialize",
    "aclgrphBuildModel",
    "aclgrphBundleBuildModel",
    "aclgrphSaveModel",
    "aclgrphBundleSaveModel",
    "aclgrphDumpGraph",
    "aclgrphGenerateForOp",
    "aclgrphGetIRVersion",
    "aclgrphSetOpAttr",
    "aclgrphParseONNX",
    "aclgrphParseONNXFromMem",
    "aclgrphParseTensorFlow",
    "aclgrphParseCaffe",
};

// One of them, looked up when it compiles: a name that is not in the table does not.
struct Function {
  const char* name;
  uint32_t call;  // as tasks have it

  consteval Function(const char* text) : name(text), call(api::kFirstOtherCall) {  // NOLINT
    for (const char* one : kFunctions) {
      if (std::string_view(one) == text) return;
      ++call;
    }
    throw "the table has no such function";
  }
};

}  // namespace belay::graph_interface
