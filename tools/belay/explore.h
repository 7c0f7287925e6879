// belay explore: a program again and again, its tasks in other orders that are as legal as the plain one.
#pragma once

#include <cstdint>
#include <optional>

#include "belay/run.h"

namespace belay::tool {

struct ExploreOptions {
  RunOptions run;
  uint64_t runs = 100;
  std::optional<uint64_t> seed;  // that one alone, its output untouched
  double timeout = 0;      // seconds that a run may take; 0: twenty times the plain order's, at least ten
  int error_exitcode = 1;  // where a run differs though the program ends with 0
};

// Returns 0 when no order made a difference, else the exit code of the program in the first that did, or
// error_exitcode.
int Explore(const ExploreOptions& options);

}  // namespace belay::tool
