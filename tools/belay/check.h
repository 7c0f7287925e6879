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
  bool leaks = false;      // are told, too
  bool undefined = false;  // bytes that are used are told, too
  bool notes = false;      // of what is superfluous are told, too
  bool nan = false;        // the first that an operator makes is told, too
  // Plain loads and stores are looked at while that takes little of the time.
  bool host_accesses = false;     // whatever it takes
  bool no_host_accesses = false;  // they are not
  std::string hang_after;         // seconds without progress; empty: as the layer does
};

// Returns the program's exit code, or the one for mistakes.
int Check(const CheckOptions& options);

}  // namespace belay::tool
