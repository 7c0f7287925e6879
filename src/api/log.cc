#include "api/log.h"

#include <errno.h>
#include <fmt/format.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>

namespace belay::api {
namespace {

constexpr int kNothing = 4;

struct Sink {
  std::mutex lock;
  FILE* file = nullptr;  // null: none, or it could not be opened
  bool to_stdout = false;
};
Sink& TheSink() {
  static auto* sink = new Sink;
  return *sink;
}
std::atomic<int> g_level{-1};  // -1: not read yet

int NumberIn(const char* variable, int otherwise) {
  const char* text = getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  long value = strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value <= kNothing ? static_cast<int>(value) : otherwise;
}

bool MakeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0750) != 0 && errno != EEXIST) return false;
    if (slash == std::string::npos) return true;
  }
}

FILE* OpenLogFile() {
  const char* folder = getenv("ASCEND_PROCESS_LOG_PATH");
  if (folder == nullptr || *folder == '\0') return nullptr;
  std::string path = fmt::format("{}/debug/plog", folder);
  if (!MakeFolders(path)) return nullptr;
  path += fmt::format("/plog-{}_{}.log", getpid(), time(nullptr));
  return fopen(path.c_str(), "ae");
}

std::string Time() {
  timeval now;
  gettimeofday(&now, nullptr);
  tm local;
  localtime_r(&now.tv_sec, &local);
  return fmt::format("{:04}-{:02}-{:02}-{:02}:{:02}:{:02}.{:03}.{:03}", local.tm_year + 1900,
                     local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                     now.tv_usec / 1000, now.tv_usec % 1000);
}

void WriteLine(FILE* file, const std::string& line) {
  fwrite(line.data(), 1, line.size(), file);
  fflush(file);
}

}  // namespace

void ReadLogSettings() {
  Sink& sink = TheSink();
  std::lock_guard guard(sink.lock);
  int level = NumberIn("ASCEND_GLOBAL_LOG_LEVEL", static_cast<int>(LogLevel::kError));
  sink.to_stdout = NumberIn("ASCEND_SLOG_PRINT_TO_STDOUT", 0) == 1;
  if (sink.file != nullptr) fclose(sink.file);
  sink.file = level < kNothing ? OpenLogFile() : nullptr;
  bool anywhere = sink.to_stdout || sink.file != nullptr;
  g_level.store(anywhere ? level : kNothing, std::memory_order_release);
}

bool LogWanted(LogLevel level) {
  if (g_level.load(std::memory_order_acquire) < 0) ReadLogSettings();
  return static_cast<int>(level) >= g_level.load(std::memory_order_relaxed);
}

void Log(LogLevel level, const char* module, std::string_view text) {
  static constexpr const char* kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
  if (!LogWanted(level)) return;
  std::string line = fmt::format("[{}] {}({},{}):{} {}\n", kNames[static_cast<int>(level)], module,
                                 getpid(), program_invocation_short_name, Time(), text);
  Sink& sink = TheSink();
  std::lock_guard guard(sink.lock);
  if (sink.to_stdout) WriteLine(stdout, line);
  if (sink.file != nullptr) WriteLine(sink.file, line);
}

}  // namespace belay::api
