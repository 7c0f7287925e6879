// Lines about what the process does, to a file of its own or to standard output. Off, or too quiet for a
// level, it costs one predictable branch. It takes no lock: a line is one write to a file opened for
// appending, so threads do not mix theirs and a forked child cannot find anything locked.
//
// Where lines go and from which level on is said by whoever calls ConfigureLog (src/api/log.cc).
#pragma once

#include <atomic>
#include <string>
#include <string_view>

namespace belay {

enum class LogLevel : int { kDebug, kInfo, kWarning, kError, kNothing };

struct LogConfig {
  LogLevel level = LogLevel::kNothing;
  bool to_stdout = false;
  // Otherwise lines go to <folder>/<prefix>-<process>_<time>.log, made with the first line. A folder
  // that cannot be written switches the log off; nothing else happens.
  std::string folder = {};
  std::string prefix = "log";

  bool operator==(const LogConfig&) const = default;
};

void ConfigureLog(LogConfig config);

inline constinit std::atomic<LogLevel> g_log_level{LogLevel::kNothing};
inline bool LogWanted(LogLevel level) { return level >= g_log_level.load(std::memory_order_relaxed); }

// Where a line comes from, printed as [name:number].
struct LogPlace {
  std::string_view name;
  long number;

  LogPlace(std::string_view place, long at) : name(place), number(at) {}
  // Where the line is logged: default arguments belong to the caller. (Clang 14 has no source_location.)
  static LogPlace Here(const char* file = __builtin_FILE(), long line = __builtin_LINE());
};

// One line: "[ERROR] MODULE(process,program):date [place]thread text". Ask LogWanted first. errno stays.
void WriteLog(LogLevel level, const char* module, std::string_view text, LogPlace place = LogPlace::Here());

}  // namespace belay
