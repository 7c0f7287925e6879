// What aclGetRecentErrMsg and aclrtGetLastError tell: the texts and the last code of failed calls, of
// the thread or (err_msg_mode "1") of the process.
#pragma once

#include <string>

namespace belay::api {

void PushError(int code, std::string text);
// All texts since the last call, newest on top, or null. The pointer holds until the next call by the
// same thread.
const char* TakeErrors();
void KeepErrorsPerProcess(bool process);

int LastError();      // of the thread
int TakeLastError();  // and clears it

// "[Error code]: [PID: n] 2026-01-31-12:00:00.000.000 sentence" and its continuation lines.
std::string FormatError(int code, const char* function, const char* id, const std::string& sentence);

}  // namespace belay::api
