// The process's log, steered by the variables that users of the interface know:
//   ASCEND_GLOBAL_LOG_LEVEL       0 debug, 1 info, 2 warning, 3 error (default), 4 nothing
//   ASCEND_SLOG_PRINT_TO_STDOUT   1: lines go to standard output
//   ASCEND_PROCESS_LOG_PATH       a folder: lines go to <folder>/debug/plog/plog-<pid>_<time>.log
// Without the last two nothing is written.
#pragma once

#include <string_view>

namespace belay::api {

enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3 };

// Whether a line of this level would go anywhere; ask before formatting.
bool LogWanted(LogLevel level);

// Writes one line: level, module ("APP"), process, local time, then the text.
void Log(LogLevel level, const char* module, std::string_view text);

// Reads the environment anew; aclInit does it, also in a forked child.
void ReadLogSettings();

}  // namespace belay::api
