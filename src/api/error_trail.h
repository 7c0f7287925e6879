// What aclGetRecentErrMsg and aclrtGetLastError tell: the texts and the last code of failed calls, of
// the thread or (err_msg_mode "1") of the process.
#pragma once

#include <string>
#include <string_view>

namespace belay::api {

// A call of the thread failed: its code, and its text as far as there is memory for it.
void TellError(int code, const char* function, const char* id, std::string_view sentence) noexcept;
// All texts since the last call, newest on top, or null. The pointer holds until the next call by the
// same thread. Without memory they stay, for a later call.
const char* TakeErrors() noexcept;
void KeepErrorsPerProcess(bool process);

int LastError() noexcept;      // of the thread
int TakeLastError() noexcept;  // and clears it

// "[Error code]: [PID: n] 2026-01-31-12:00:00.000.000 sentence" and its continuation lines.
std::string FormatError(int code, const char* function, const char* id, std::string_view sentence);

}  // namespace belay::api
