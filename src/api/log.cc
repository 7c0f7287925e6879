#include "api/log.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <atomic>
#include <string_view>

namespace belay::api {
namespace {

constinit std::atomic<bool> g_read{false};

std::string_view Variable(const char* name) {
  const char* text = getenv(name);
  return text == nullptr ? "" : text;
}

LogLevel LevelWanted() {
  std::string_view text = Variable("ASCEND_GLOBAL_LOG_LEVEL");
  bool known = text.size() == 1 && text[0] >= '0' && text[0] <= '4';
  return known ? static_cast<LogLevel>(text[0] - '0') : LogLevel::kError;
}

// The log must never stand in the way: without any of the variables there is none.
std::string Folder() {
  if (std::string_view path = Variable("ASCEND_PROCESS_LOG_PATH"); !path.empty()) return std::string(path);
  if (std::string_view path = Variable("ASCEND_WORK_PATH"); !path.empty()) return fmt::format("{}/log", path);
  if (std::string_view path = Variable("HOME"); !path.empty()) return fmt::format("{}/ascend/log", path);
  return "";
}

}  // namespace

void ReadLogSettings() {
  LogConfig config;
  config.to_stdout = Variable("ASCEND_SLOG_PRINT_TO_STDOUT") == "1";
  std::string folder = Folder();
  config.level = config.to_stdout || !folder.empty() ? LevelWanted() : LogLevel::kNothing;
  if (!folder.empty()) config.folder = folder + "/debug/plog";
  config.prefix = "plog";
  ConfigureLog(std::move(config));
  g_read.store(true, std::memory_order_release);
}

void EnsureLogSettings() {
  if (!g_read.load(std::memory_order_acquire)) ReadLogSettings();
}

void LogFormatted(LogLevel level, LogPlace place, fmt::string_view text, fmt::format_args args) noexcept {
  try {
    WriteLog(level, "ASCENDCL", fmt::vformat(text, args), place);
  } catch (...) {
    // No memory for the line: the call goes on.
  }
}

void LogError(const char* function, int code, const char* id, std::string_view sentence) noexcept {
  try {
    EnsureLogSettings();
  } catch (...) {
    return;
  }
  if (!LogWanted(LogLevel::kError)) return;
  LogFormatted(LogLevel::kError, {function, code}, "{} failed: {} [{}]",
               fmt::make_format_args(function, sentence, id));
}

}  // namespace belay::api
