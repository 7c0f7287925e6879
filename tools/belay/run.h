// belay run: starts an unmodified program so that it finds Belay's libraries.
#pragma once

#include <string>
#include <vector>

namespace belay::tool {

struct RunOptions {
  std::string devices;
  std::string device_memory;
  std::string soc;
  std::string run_mode;
  std::string workers;
  std::string faults;
  bool preload = false;
  std::vector<std::string> command;
};

// Replaces this process by the program, so its exit code and signals are the program's own. Returns
// only if that fails: 127 when there is no such program, 126 when it cannot be executed.
int Run(const RunOptions& options);

}  // namespace belay::tool
