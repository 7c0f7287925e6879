// Sessions: graphs are added, compiled and run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../graph/ascend_string.h"
#include "../graph/graph.h"
#include "../graph/tensor.h"
#include "ge_allocator.h"
#include "ge_api_types.h"
#include "ge_error_codes.h"
#include "ge_graph_compile_summary.h"

namespace ge {

#define BELAY_GE_API __attribute__((visibility("default")))

// Starts the graph engine, and the runtime where aclInit has not. A second call does nothing. Options that
// are not known are ignored with a warning (GEGetWarningMsgV2).
BELAY_GE_API Status GEInitialize(const std::map<std::string, std::string>& options);
BELAY_GE_API Status GEInitialize(const std::map<AscendString, AscendString>& options);
// Ends it: the graphs of all sessions are gone, and what sessions are asked for afterwards fails. What
// GEInitialize started of the runtime ends with it. Without GEInitialize it does nothing.
BELAY_GE_API Status GEFinalize();

// The latest error and warning of the calling thread; "" when there was none.
BELAY_GE_API std::string GEGetErrorMsg();
BELAY_GE_API ge::AscendString GEGetErrorMsgV2();
BELAY_GE_API std::string GEGetWarningMsg();
BELAY_GE_API ge::AscendString GEGetWarningMsgV2();

// Graphs by number. All functions may be called by several threads; each tells with FAILED what
// GEGetErrorMsg explains, with GE_CLI_GE_NOT_INITIALIZED that GEInitialize is missing, and CompileGraph with
// PARAM_INVALID what is wrong with the graph. The options of GEInitialize hold for its graphs, then those of the session, then
// those of the graph.
class BELAY_GE_API Session {
 public:
  explicit Session(const std::map<std::string, std::string>& options);
  explicit Session(const std::map<AscendString, AscendString>& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The graph itself is used (a later change of it counts until it is compiled), or a copy.
  Status AddGraph(uint32_t graph_id, const Graph& graph);
  Status AddGraph(uint32_t graph_id, const Graph& graph, const std::map<std::string, std::string>& options);
  Status AddGraph(uint32_t graph_id, const Graph& graph, const std::map<AscendString, AscendString>& options);
  Status AddGraphWithCopy(uint32_t graph_id, const Graph& graph);
  Status AddGraphWithCopy(uint32_t graph_id, const Graph& graph, const std::map<AscendString, AscendString>& options);
  // A model that aclgrphSaveModel or atc wrote.
  Status LoadGraph(const uint32_t graph_id, const std::map<std::string, std::string>& options,
                   const std::string& om_file_path) const;
  Status RemoveGraph(uint32_t graph_id);

  // Compile ahead; the functions that run a graph do it otherwise. CompileGraph takes the shapes of the
  // graph's Data operators, BuildGraph those of the inputs.
  Status CompileGraph(uint32_t graph_id);
  Status BuildGraph(uint32_t graph_id, const std::vector<InputTensorInfo>& inputs);
  Status BuildGraph(uint32_t graph_id, const std::vector<ge::Tensor>& inputs);
  // True while the graph is not compiled.
  bool IsGraphNeedRebuild(uint32_t graph_id);
  // Null when it is not compiled.
  CompiledGraphSummaryPtr GetCompiledGraphSummary(uint32_t graph_id);

  // Inputs and outputs in host memory; waits for the end. `outputs` is filled.
  Status RunGraph(uint32_t graph_id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  // The same later, in the order of the calls; the callback gets the outputs. The inputs are copied.
  Status RunGraphAsync(uint32_t graph_id, const std::vector<ge::Tensor>& inputs, RunAsyncCallback callback);
  // Inputs and outputs in device memory, in the order of the stream (an aclrtStream); the memory must stay
  // until the stream is synchronised. Outputs without data get memory from the stream's allocator, or from
  // the session.
  Status RunGraphWithStreamAsync(uint32_t graph_id, void* stream, const std::vector<Tensor>& inputs,
                                 std::vector<Tensor>& outputs);

  // Device memory of the program for a graph that is compiled and whose sizes are known. Constants of Belay stay
  // where they are, so their memory is checked and not used; no memory is fixed, which a warning says. Of
  // UpdateGraphFeatureMemoryBase and UpdateGraphRefreshableFeatureMemoryBase a graph takes one, as often as it may be.
  Status SetGraphConstMemoryBase(uint32_t graph_id, const void* const memory, size_t size);
  Status UpdateGraphFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size);
  Status SetGraphFixedFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size);
  Status UpdateGraphRefreshableFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size);
  // Where RunGraphWithStreamAsync on the stream gets memory for outputs.
  Status RegisterExternalAllocator(const void* const stream, AllocatorPtr allocator) const;
  // Without effect where there is none.
  Status UnregisterExternalAllocator(const void* const stream) const;
  Status SetGraphFixedFeatureMemoryBaseWithType(uint32_t graph_id, MemoryType type, const void* const memory, size_t size);

  // Not supported: graphs have no variables, save no checkpoints, and are not spread over devices. These fail
  // and say so.
  Status GetVariables(const std::vector<std::string>& var_names, std::vector<Tensor>& var_values);
  Status GetVariables(const std::vector<AscendString>& var_names, std::vector<Tensor>& var_values);
  Status RegisterCallBackFunc(const std::string& key, const pCallBackFunc& callback);
  Status RegisterCallBackFunc(const char* key, const session::pCallBackFunc& callback);
  Status RunGraphDistribute(uint32_t graph_id, const std::map<int32_t, std::vector<Tensor>>& device_to_inputs,
                            std::map<int32_t, std::vector<Tensor>>& device_to_outputs);
  Status ShardGraphsToFile(const char_t* file_path = "./") const;
  Status SaveGraphsToPb(const char_t* file_path) const;

  uint64_t GetSessionId() const;

 private:
  uint64_t sessionId_;
};

#undef BELAY_GE_API

}  // namespace ge
