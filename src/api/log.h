// The process's log, steered by the variables that users of the interface know:
//   ASCEND_GLOBAL_LOG_LEVEL       0 debug, 1 info, 2 warning, 3 error (default), 4 nothing
//   ASCEND_SLOG_PRINT_TO_STDOUT   1: lines go to standard output instead of to a file
//   ASCEND_PROCESS_LOG_PATH       the folder of log files; else $ASCEND_WORK_PATH/log, else
//                                 $HOME/ascend/log. Files: <folder>/debug/plog/plog-<pid>_<time>.log
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "base/log.h"

namespace belay::api {

// Reads the environment; done once before the first line, and anew by aclInit.
void ReadLogSettings();
void EnsureLogSettings();

// A failed call. The line is the message without its frame.
void LogError(const char* function, int code, const char* id, std::string_view sentence) noexcept;
// Without memory for the line there is none.
void LogFormatted(LogLevel level, LogPlace place, fmt::string_view text, fmt::format_args args) noexcept;

// What a call of the interface did, for those who ask for level 1.
template <class... Args>
void LogInfo(LogPlace place, fmt::format_string<Args...> text, Args&&... args) {
  if (LogWanted(LogLevel::kInfo)) [[unlikely]] {
    LogFormatted(LogLevel::kInfo, place, text, fmt::make_format_args(args...));
  }
}

// What a program asked for and does not get, where that is no error (level 2).
template <class... Args>
void LogWarning(LogPlace place, fmt::format_string<Args...> text, Args&&... args) {
  if (LogWanted(LogLevel::kWarning)) [[unlikely]] {
    LogFormatted(LogLevel::kWarning, place, text, fmt::make_format_args(args...));
  }
}

}  // namespace belay::api
