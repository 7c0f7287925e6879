#include "atc/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"

namespace atc {
namespace {

enum class Effect { kUsed, kNone, kRefused };

struct Row {
  const char* name;
  const char* fallback;
  Effect effect;
  const char* help;
};

constexpr Row kRows[] = {
    {"mode", "0", Effect::kUsed,
     "0: compile; 1: model to JSON; 3: only check that it could be compiled; 6: show what a .om holds"},
    {"model", "", Effect::kUsed, "the ONNX file"},
    {"framework", "", Effect::kUsed, "5: ONNX (others are not supported)"},
    {"output", "", Effect::kUsed, "where to write, without the suffix .om"},
    {"soc_version", "Ascend910B3", Effect::kUsed, "kept in the model; the CPU is always the one at hand"},
    {"input_shape", "", Effect::kUsed, "\"name:1,3,224,224;other:4\"; -1 leaves a size open"},
    {"input_shape_range", "", Effect::kUsed, "the older spelling for open sizes"},
    {"dynamic_batch_size", "", Effect::kUsed, "\"1,2,4\": sizes for a batch of -1"},
    {"dynamic_image_size", "", Effect::kUsed, "\"224,224;448,448\": heights and widths for -1"},
    {"dynamic_dims", "", Effect::kUsed, "\"1,16;4,64\": values for all sizes of -1"},
    {"input_format", "", Effect::kUsed, "NCHW or ND"},
    {"insert_op_conf", "", Effect::kUsed, "a file that configures the preprocessing of images (AIPP)"},
    {"precision_mode", "must_keep_origin_dtype", Effect::kUsed,
     "allow_mix_precision: large products in bf16; see docs/fidelity.md"},
    {"precision_mode_v2", "", Effect::kUsed, "the newer spelling"},
    {"keep_dtype", "", Effect::kUsed,
     "a file that lists operators which are left out of that: a name or OpType::Type a line"},
    {"out_nodes", "", Effect::kUsed,
     "\"node:0;node:1\" (or names of tensors): outputs instead of the model's own"},
    {"output_type", "", Effect::kUsed,
     "FP32, FP16, UINT8, ...: of all outputs, or \"node:0:FP16\" for those of out_nodes"},
    {"input_fp16_nodes", "", Effect::kUsed, "\"name;name\": inputs that are given as FLOAT16"},
    {"singleop", "", Effect::kUsed,
     "a JSON file that describes operators; output is the folder for their .om files"},
    {"om", "", Effect::kUsed, "the .om file of modes 1 and 6; with framework=5, the ONNX file of mode 1"},
    {"json", "", Effect::kUsed, "where mode 1 writes"},
    {"check_report", "check_result.json", Effect::kUsed, "where mode 3 writes"},
    {"log", "null", Effect::kUsed, "debug, info, warning, error or null"},
    {"weight", "", Effect::kRefused, "only for Caffe"},
    {"modify_mixlist", "", Effect::kNone, ""},
    {"customize_dtypes", "", Effect::kNone, ""},
    {"op_select_implmode", "", Effect::kNone, ""},
    {"optypelist_for_implmode", "", Effect::kNone, ""},
    {"op_precision_mode", "", Effect::kNone, ""},
    {"op_name_map", "", Effect::kNone, ""},
    {"disable_reuse_memory", "", Effect::kNone, ""},
    {"fusion_switch_file", "", Effect::kNone, ""},
    {"buffer_optimize", "", Effect::kNone, ""},
    {"enable_small_channel", "", Effect::kNone, ""},
    {"core_type", "", Effect::kNone, ""},
    {"aicore_num", "", Effect::kNone, ""},
    {"enable_single_stream", "", Effect::kNone, ""},
    {"enable_compress_weight", "", Effect::kNone, ""},
    {"compress_weight_conf", "", Effect::kNone, ""},
    {"op_compiler_cache_dir", "", Effect::kNone, ""},
    {"op_compiler_cache_mode", "", Effect::kNone, ""},
    {"debug_dir", "", Effect::kNone, ""},
    {"op_debug_level", "", Effect::kNone, ""},
    {"auto_tune_mode", "", Effect::kNone, ""},
    {"mdl_bank_path", "", Effect::kNone, ""},
    {"op_bank_path", "", Effect::kNone, ""},
    {"host_env_os", "", Effect::kNone, ""},
    {"host_env_cpu", "", Effect::kNone, ""},
    {"deterministic", "", Effect::kNone, ""},
    {"external_weight", "", Effect::kNone, ""},
    {"display_model_info", "", Effect::kNone, ""},
    {"dump_mode", "", Effect::kNone, ""},
    {"is_input_adjust_hw_layout", "", Effect::kNone, ""},
    {"is_output_adjust_hw_layout", "", Effect::kNone, ""},
    {"status_check", "", Effect::kNone, ""},
};

const Row* Find(const std::string& name) {
  auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return name == r.name; });
  return row == std::end(kRows) ? nullptr : row;
}

// What is one of a few words: a typing error would otherwise be of no effect.
void CheckValue(const std::string& name, const std::string& value) {
  struct Choice {
    const char* option;
    const char* code;
    std::initializer_list<const char*> values;
  };
  static const Choice kChoices[] = {
      {"log", "E10010", {"debug", "info", "warning", "error", "null"}},
      {"disable_reuse_memory", "E10006", {"0", "1"}},
      {"enable_small_channel", "E10006", {"0", "1"}},
      {"enable_single_stream", "E10005", {"true", "false"}},
      {"enable_compress_weight", "E10005", {"true", "false"}},
      {"is_input_adjust_hw_layout", "E10001", {"false"}},  // true: NC1HWC0, which is a card's
      {"is_output_adjust_hw_layout", "E10001", {"false"}},
      {"input_format", "E10001", {"NCHW", "NHWC", "ND"}},
      {"precision_mode",
       "E10001",
       {"force_fp16", "force_fp32", "cube_fp16in_fp32out", "allow_fp32_to_fp16", "allow_fp32_to_bf16",
        "must_keep_origin_dtype", "allow_mix_precision", "allow_mix_precision_fp16",
        "allow_mix_precision_bf16"}},
      {"precision_mode_v2",
       "E10001",
       {"fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16"}}};
  for (const Choice& choice : kChoices) {
    if (name != choice.option) continue;
    if (std::find(choice.values.begin(), choice.values.end(), value) != choice.values.end()) return;
    belay::Fail(100000, "atc-option-value", "{}: option --{} is '{}'; it is one of {}", choice.code, name,
                value, fmt::join(choice.values, ", "));
  }
}

void Add(Options& options, const std::string& name, const std::string& value) {
  const Row* row = Find(name);
  if (row == nullptr) {
    belay::Fail(100000, "atc-option", "E10001: there is no option --{}; see atc --help", name);
  }
  if (row->effect == Effect::kRefused) {
    belay::Fail(200001, "atc-option-refused", "E10001: option --{} ({}) is not supported by this version",
                name, row->help);
  }
  if (value.empty()) belay::Fail(100000, "atc-option-empty", "E10004: option --{} has no value", name);
  CheckValue(name, value);
  if (row->effect == Effect::kNone) options.without_effect.push_back(name);
  options.values[name] = value;
}

}  // namespace

std::string Options::Get(const std::string& name) const {
  auto it = values.find(name);
  if (it != values.end()) return it->second;
  const Row* row = Find(name);
  return row == nullptr ? "" : row->fallback;
}

Options Parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    std::string text = arguments[i];
    size_t dashes = text.find_first_not_of('-');
    if (dashes == std::string::npos || dashes > 2) dashes = 0;
    size_t equals = text.find('=');
    std::string name = text.substr(dashes, equals == std::string::npos ? equals : equals - dashes);
    std::replace(name.begin(), name.end(), '-', '_');
    if (name == "help" || name == "h") {
      options.help = true;
    } else if (equals != std::string::npos) {
      Add(options, name, text.substr(equals + 1));
    } else {
      Add(options, name, i + 1 < count ? arguments[++i] : "");
    }
  }
  return options;
}

void PrintHelp() {
  std::puts(
      "atc compiles an ONNX model to a .om file, which aclmdlLoadFromFile runs.\n\n"
      "  atc --framework=5 --model=net.onnx --output=net --soc_version=Ascend910B3\n\nOptions:");
  for (const Row& row : kRows) {
    if (row.effect != Effect::kUsed) continue;
    std::puts(fmt::format("  --{:<22} {}{}", row.name, row.help,
                          *row.fallback == '\0' ? "" : fmt::format(" (default {})", row.fallback))
                  .c_str());
  }
  std::puts("\nAccepted for the sake of command lines, without effect:");
  std::string line = " ";
  for (const Row& row : kRows) {
    if (row.effect != Effect::kNone) continue;
    if (line.size() + std::string(row.name).size() > 96) std::puts(line.c_str()), line.assign(1, ' ');
    line += fmt::format(" --{}", row.name);
  }
  std::puts(line.c_str());
}

}  // namespace atc
