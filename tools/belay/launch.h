// belay launch: the ranks of a group as processes of this machine.
#pragma once

#include <string>

#include "belay/run.h"

namespace belay::tool {

struct LaunchOptions {
  RunOptions run;
  int ranks = 0;
  int port = 0;  // MASTER_PORT; 0: one that is free
  double grace = 5;
  bool rank_table = false;
  std::string hosts;
};

// Returns the exit code: 0, or that of the rank that failed first.
int Launch(const LaunchOptions& options);

}  // namespace belay::tool
