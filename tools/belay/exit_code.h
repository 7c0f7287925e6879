// The exit code that stands for how a program ended: its own, or, as shells have it, 128 and the signal.
#pragma once

#include <sys/wait.h>

namespace belay::tool {

inline int ExitCodeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace belay::tool
