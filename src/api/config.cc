#include "api/config.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/error.h"

namespace belay::api {
namespace {

using Json = nlohmann::json;

constexpr int kMostLevels = 10;  // of { and of [, says the page
constexpr size_t kMostBytes = 10 << 20;

std::string ReadFile(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() < 0) {
    Fail(100003, "init-file", "the configuration file '{}' cannot be opened", path);
  }
  if (static_cast<size_t>(file.tellg()) > kMostBytes) {
    Fail(100005, "init-file-size", "the configuration file '{}' is larger than 10 MiB", path);
  }
  file.seekg(0);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
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
      Fail(100006, "init-file-nesting", "{}:{}: more than {} levels of {}", path, line, kMostLevels,
           braces > kMostLevels ? "{ }" : "[ ]");
    }
  }
}

Json Parse(const char* path, const std::string& text) {
  CheckNesting(path, text);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n');
    size_t line_start = text.rfind('\n', at == 0 ? 0 : at - 1);
    size_t column = at - (line_start == std::string::npos || at == 0 ? 0 : line_start + 1) + 1;
    Fail(100006, "init-file-syntax", "{}:{}:{}: not valid JSON", path, line, column);
  }
}

// Values are strings in all examples; a plain number is understood too.
int Number(const char* path, const std::string& key, const Json& value, int most) {
  int number = -1;
  if (value.is_number_integer()) {
    number = value.get<int64_t>() > most ? -1 : value.get<int>();
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) number = -1;
  }
  if (number < 0 || number > most) {
    Fail(100008, "init-file-value", "{}: key {} is {}; it must be a whole number from 0 to {}, as a string", path,
         key, value.dump(), most);
  }
  return number;
}

const Json* Member(const char* path, const Json& object, const char* key, Json::value_t type) {
  auto it = object.find(key);
  if (it == object.end()) return nullptr;
  if (type != Json::value_t::null && it->type() != type) {
    Fail(100008, "init-file-value", "{}: key {} is {}; it must be an object {{ }}", path, key, it->dump());
  }
  return &*it;
}

}  // namespace

InitConfig ReadInitConfig(const char* path) {
  InitConfig config;
  if (path == nullptr) return config;
  std::string text = ReadFile(path);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return config;
  Json root = Parse(path, text);
  if (!root.is_object()) {
    Fail(100006, "init-file-syntax", "{}:1:1: the file must hold one JSON object", path);
  }
  if (const Json* device = Member(path, root, "defaultDevice", Json::value_t::object)) {
    if (const Json* id = Member(path, *device, "default_device", Json::value_t::null)) {
      config.default_device = Number(path, "defaultDevice.default_device", *id, 1 << 20);
    }
  }
  if (const Json* mode = Member(path, root, "err_msg_mode", Json::value_t::null)) {
    config.errors_per_process = Number(path, "err_msg_mode", *mode, 1) == 1;
  }
  return config;
}

}  // namespace belay::api
