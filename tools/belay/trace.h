// belay trace: a program's timeline as a file.
#pragma once

#include <string>

#include "belay/run.h"

namespace belay::tool {

struct TraceOptions {
  RunOptions run;
  std::string file = "belay.pftrace";
  std::string calls;   // the log of calls; empty: none
  std::string msprof;  // the folder for tables as msprof leaves them; empty: none
};

// Becomes the program; returns where that fails.
int Trace(const TraceOptions& options);

}  // namespace belay::tool
