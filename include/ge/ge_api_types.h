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

// Names of options for aclgrphBuildInitialize, aclgrphBuildModel and the parsers.
namespace ir_option {
constexpr const char* SOC_VERSION = "ge.socVersion";
constexpr const char* PRECISION_MODE = "ge.exec.precision_mode";
constexpr const char* PRECISION_MODE_V2 = "ge.exec.precision_mode_v2";
constexpr const char* MODIFY_MIXLIST = "ge.exec.modify_mixlist";
constexpr const char* OP_PRECISION_MODE = "ge.exec.op_precision_mode";
constexpr const char* ALLOW_HF32 = "ge.exec.allow_hf32";
constexpr const char* DETERMINISTIC = "ge.deterministic";
constexpr const char* OP_SELECT_IMPL_MODE = "ge.opSelectImplmode";
constexpr const char* OPTYPELIST_FOR_IMPLMODE = "ge.optypelistForImplmode";
constexpr const char* CORE_TYPE = "ge.engineType";
constexpr const char* BUFFER_OPTIMIZE = "ge.bufferOptimize";
constexpr const char* ENABLE_COMPRESS_WEIGHT = "ge.enableCompressWeight";
constexpr const char* COMPRESS_WEIGHT_CONF = "compress_weight_conf";
constexpr const char* ENABLE_SINGLE_STREAM = "ge.enableSingleStream";
constexpr const char* INPUT_FORMAT = "input_format";
constexpr const char* INPUT_SHAPE = "input_shape";
constexpr const char* INPUT_SHAPE_RANGE = "input_shape_range";
constexpr const char* INPUT_FP16_NODES = "ge.INPUT_NODES_SET_FP16";
constexpr const char* INSERT_OP_FILE = "ge.insertOpFile";
constexpr const char* LOG_LEVEL = "log";
constexpr const char* OP_COMPILER_CACHE_MODE = "ge.op_compiler_cache_mode";
constexpr const char* OP_COMPILER_CACHE_DIR = "ge.op_compiler_cache_dir";
constexpr const char* DEBUG_DIR = "ge.debugDir";
constexpr const char* OP_DEBUG_LEVEL = "ge.opDebugLevel";
constexpr const char* EXTERNAL_WEIGHT = "ge.externalWeight";
constexpr const char* SHAPE_GENERALIZED_BUILD_MODE = "ge.shape_generalized_build_mode";
constexpr const char* PERFORMANCE_MODE = "ge.performance_mode";
constexpr const char* DYNAMIC_BATCH_SIZE = "ge.dynamicBatchSize";
constexpr const char* DYNAMIC_IMAGE_SIZE = "ge.dynamicImageSize";
constexpr const char* DYNAMIC_DIMS = "ge.dynamicDims";
constexpr const char* OUT_NODES = "ge.outputNodeName";
constexpr const char* OUTPUT_TYPE = "ge.outputDatatype";
constexpr const char* OP_NAME_MAP = "op_name_map";
constexpr const char* EXEC_DISABLE_REUSED_MEMORY = "ge.exec.disableReuseMemory";
constexpr const char* AUTO_TUNE_MODE = "ge.autoTuneMode";
constexpr const char* AICORE_NUM = "ge.aicoreNum";
constexpr const char* FUSION_SWITCH_FILE = "ge.fusionSwitchFile";
constexpr const char* ENABLE_SMALL_CHANNEL = "ge.enableSmallChannel";
constexpr const char* MDL_BANK_PATH = "ge.mdl_bank_path";
constexpr const char* OP_BANK_PATH = "ge.op_bank_path";
constexpr const char* CUSTOMIZE_DTYPES = "ge.customizeDtypes";
constexpr const char* BUILD_INNER_MODEL = "ge.build_inner_model";
constexpr const char* ATOMIC_CLEAN_POLICY = "ge.exec.atomicCleanPolicy";
// Of the parsers, with OUT_NODES and INPUT_FP16_NODES.
constexpr const char* OUTPUT = "output";
constexpr const char* IS_INPUT_ADJUST_HW_LAYOUT = "is_input_adjust_hw_layout";
constexpr const char* IS_OUTPUT_ADJUST_HW_LAYOUT = "is_output_adjust_hw_layout";
constexpr const char* ENABLE_SCOPE_FUSION_PASSES = "enable_scope_fusion_passes";
constexpr const char* INPUT_DATA_NAMES = "input_data_names";
}  // namespace ir_option

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
