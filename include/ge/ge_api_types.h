// Types and option names of sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "../graph/ascend_string.h"
#include "../graph/tensor.h"
#include "ge_error_codes.h"

namespace ge {

// Names of options, for GEInitialize, Session and AddGraph.
constexpr const char* OPTION_EXEC_DEVICE_ID = "ge.exec.deviceId";
constexpr const char* OPTION_GRAPH_RUN_MODE = "ge.graphRunMode";
constexpr const char* PRECISION_MODE = "ge.exec.precision_mode";
constexpr const char* SOC_VERSION = "ge.socVersion";
constexpr const char* INPUT_SHAPE = "ge.inputShape";

// What an input of BuildGraph is, without its contents.
struct InputTensorInfo {
  uint32_t data_type;
  std::vector<int64_t> dims;
  void* data;
  int64_t length;
};

// Told of the end of RunGraphAsync: its status and the outputs. Called on a thread of the session.
using RunAsyncCallback = std::function<void(Status, std::vector<ge::Tensor>&)>;

// What RegisterCallBackFunc would be given.
using pCallBackFunc = std::function<Status(uint32_t graph_id, const std::map<std::string, ge::Tensor>& params_list)>;
namespace session {
using pCallBackFunc = std::function<Status(uint32_t graph_id, const std::map<AscendString, ge::Tensor>& params_list)>;
}

enum class MemoryType : uint32_t {
  MEMORY_TYPE_DEFAULT = 0,
  MEMORY_TYPE_P2P = 1
};

}  // namespace ge
