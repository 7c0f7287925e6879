// belay check: a program under the layers that find its mistakes.
#pragma once

#include <string>

#include "belay/run.h"

namespace belay::tool {

struct CheckOptions {
  RunOptions run;
  int error_exitcode = 0;  // in place of the program's 0 when something was found; 0: never
  // Files; empty: none.
  std::string json;
  std::string sarif;
  std::string html;
  std::string suppress;
  bool leaks = false;          // are told, too
  bool undefined = false;      // bytes that are used are told, too
  bool host_accesses = false;  // plain loads and stores are looked at, too
  std::string hang_after;      // seconds without progress; empty: as the layer does
};

// Returns the program's exit code, or the one for mistakes.
int Check(const CheckOptions& options);

}  // namespace belay::tool
