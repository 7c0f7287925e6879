#include "belay/run.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "belay/toolkit.h"

namespace belay::tool {
namespace {

void SetIfGiven(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 1);
}

// A program with an old-style DT_RPATH looks there before LD_LIBRARY_PATH; a library that is already
// loaded under the right name is taken before either.
void Preload(const std::string& home) {
  const char* old = std::getenv("LD_PRELOAD");
  std::string list = old == nullptr ? "" : old;
  for (const auto& entry : std::filesystem::directory_iterator(home + "/lib64")) {
    std::string name = entry.path().filename().string();
    bool linked_by_programs = entry.path().extension() == ".so" && name.rfind("libbelay_", 0) != 0;
    if (!linked_by_programs) continue;
    if (!list.empty()) list += ":";
    list += entry.path().string();
  }
  setenv("LD_PRELOAD", list.c_str(), 1);
}

}  // namespace

int Run(const RunOptions& options) {
  std::string home = ToolkitHome();
  SetToolkitEnvironment(home);
  SetIfGiven("BELAY_DEVICES", options.devices);
  SetIfGiven("BELAY_DEVICE_MEMORY", options.device_memory);
  SetIfGiven("BELAY_SOC", options.soc);
  SetIfGiven("BELAY_RUN_MODE", options.run_mode);
  SetIfGiven("BELAY_WORKERS", options.workers);
  if (options.preload) Preload(home);

  std::vector<char*> arguments;
  for (const std::string& argument : options.command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());

  int error = errno;
  std::fprintf(stderr, "belay run: cannot start %s: %s\n", arguments[0], std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

}  // namespace belay::tool
