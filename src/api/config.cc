#include "api/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/json_place.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/whole_file.h"
#include "runtime/process.h"

namespace belay::api {
namespace {

using Keys = std::vector<std::string>;

constexpr int kMostLevels = 10;  // of { and of [, says the page
constexpr size_t kMostBytes = 10 << 20;

std::string ReadFile(const char* path) {
  std::optional<std::string> text = ReadWholeFile(path, kMostBytes);
  if (text) return std::move(*text);
  if (errno == EFBIG)
    Fail(codes::kInvalidFileSize, "init-file-size", "the configuration file '{}' is larger than 10 MiB",
         path);
  Fail(codes::kInvalidFile, "init-file", "the configuration file '{}' cannot be opened: {}", path,
       std::strerror(errno));
}

// Strings do not count. The text may still be no JSON at all.
void CheckNesting(const char* path, const std::string& text) {
  int braces = 0, brackets = 0, line = 1;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    line += c == '\n';
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    braces += (c == '{') - (c == '}');
    brackets += (c == '[') - (c == ']');
    if (braces > kMostLevels || brackets > kMostLevels) {
      Fail(codes::kParseFile, "init-file-nesting", "{}:{}: more than {} levels of {}", path, line,
           kMostLevels, braces > kMostLevels ? "{ }" : "[ ]");
    }
  }
}

// A file, parsed, and what messages say about it.
class ConfigFile {
 public:
  explicit ConfigFile(const char* path) : path_(path), text_(ReadFile(path)) {
    if (text_.find_first_not_of(" \t\r\n") == std::string::npos) text_ = "{}";
    CheckNesting(path, text_);
    try {
      root_ = Json::Parse(text_);
    } catch (const JsonError& error) {
      if (error.kind == JsonError::Kind::kNumberTooLarge) {
        Fail(codes::kParseFile, "init-file-number", "{}:{}: the number {} is too large", path,
             PlaceOf(text_, text_.find(error.token)), error.token);
      }
      Fail(codes::kParseFile, "init-file-syntax", "{}:{}: not valid JSON", path,
           PlaceOf(text_, error.at == 0 ? 0 : error.at - 1));
    }
    if (!root_.is_object())
      Fail(codes::kParseFile, "init-file-syntax", "{}:1:1: the file must hold one JSON object", path);
  }

  // The value behind the keys, outermost first; null when it is not there.
  const Json* Find(const Keys& keys) const {
    const Json* value = &root_;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!value->is_object())
        Refuse(Keys(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(i)), *value, "an object { }");
      value = value->Find(keys[i]);
      if (value == nullptr) return nullptr;
    }
    return value;
  }

  // Values are strings in all examples; a plain number is understood too.
  int Number(const Keys& keys, int most, int missing) const {
    const Json* value = Find(keys);
    if (value == nullptr) return missing;
    int number = -1;
    if (value->is_whole()) {
      number = value->Whole<int>().value_or(-1);
    } else if (value->is_text()) {
      number = NumberIn<int>(value->text()).value_or(-1);
    }
    if (number < 0 || number > most) {
      Refuse(keys, *value, fmt::format("a whole number from 0 to {}, as a string", most));
    }
    return number;
  }

  // One of the words, if it is there.
  void Word(const Keys& keys, const std::vector<std::string>& words) const {
    const Json* value = Find(keys);
    if (value == nullptr) return;
    if (!value->is_text() || std::find(words.begin(), words.end(), value->text()) == words.end())
      Refuse(keys, *value, fmt::format("one of {}", fmt::join(words, ", ")));
  }

  // Empty when there is none.
  std::string Text(const Keys& keys) const {
    const Json* value = Find(keys);
    if (value == nullptr) return "";
    if (!value->is_text()) Refuse(keys, *value, "a string");
    return value->text();
  }

  // -1 when there is none. The runtime says so when there are no devices at all.
  int Device(const Keys& keys) const {
    int id = Number(keys, 1 << 20, -1);
    int count = rt::SettingNow(&rt::Settings::devices);
    if (id >= count && count > 0) {
      Fail(codes::kRtInvalidDeviceid, "device-id",
           "{}:{}: key {}: device {} does not exist; this process sees devices 0 to {}", path_,
           PlaceOf(text_, keys), fmt::join(keys, "."), id, count - 1);
    }
    return id;
  }

  // The outermost keys that nobody looks at.
  std::string Others(std::initializer_list<const char*> known) const {
    std::string others;
    for (const auto& [key, value] : root_.members()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      others += (others.empty() ? "" : ", ") + key;
    }
    return others;
  }

 private:
  [[noreturn]] void Refuse(const Keys& keys, const Json& value, const std::string& wanted) const {
    Fail(codes::kFileAttrInvalid, "init-file-value", "{}:{}: key {} is {}; it must be {}", path_,
         PlaceOf(text_, keys), fmt::join(keys, "."), value.Dump(), wanted);
  }

  const char* path_;
  std::string text_;
  Json root_;
};

// What has no effect here must mean something all the same; other keys of dumps and profiling are names, or
// no page says what they may be.
void CheckKeysWithoutEffect(const ConfigFile& file) {
  file.Word({"dump", "dump_mode"}, {"input", "output", "all"});
  file.Word({"dump", "dump_level"}, {"op", "kernel", "all"});
  file.Word({"dump", "dump_data"}, {"tensor", "stats"});
  for (const char* key : {"dump_op_switch", "dump_debug"}) file.Word({"dump", key}, {"on", "off"});
  for (const char* key : {"switch", "aicpu", "l2", "hccl", "ascendcl", "runtime_api", "msproftx"})
    file.Word({"profiler", key}, {"on", "off"});
  file.Number({"max_opqueue_num"}, INT32_MAX, 0);
}

}  // namespace

InitConfig ReadInitConfig(const char* path) {
  InitConfig config;
  if (path == nullptr) return config;
  ConfigFile file(path);
  config.default_device = file.Device({"defaultDevice", "default_device"});
  if (int mode = file.Number({"err_msg_mode"}, 1, -1); mode >= 0) config.errors_per_process = mode == 1;
  CheckKeysWithoutEffect(file);
  config.faults = file.Text({"faults"});
  config.without_effect = file.Others({"defaultDevice", "err_msg_mode", "faults"});
  return config;
}

}  // namespace belay::api
