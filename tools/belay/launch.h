// belay launch: the ranks of a group as processes, of this machine or of several.
#pragma once

#include <string>
#include <vector>

#include "belay/run.h"

namespace belay::tool {

struct LaunchOptions {
  RunOptions run;
  int ranks = 0;
  int port = 0;  // MASTER_PORT; 0: one that is free
  double grace = 5;
  bool rank_table = false;
  std::string hosts;
  std::string over =
      "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=10 -o ServerAliveCountMax=3 {host}";
  std::string master;            // MASTER_ADDR
  std::vector<std::string> env;  // NAME, NAME=value, PREFIX*
  double lost_after = 60;
};

// Returns the exit code: 0, or that of the rank that failed first.
int Launch(const LaunchOptions& options);

// belay launch-part: what Launch starts on another host. Standard input says what to do.
int LaunchPart();

}  // namespace belay::tool
