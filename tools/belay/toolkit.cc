#include "belay/toolkit.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace belay::tool {
namespace {

// Puts `folder` first in the list `name` and takes out its other mentions, as set_env.sh does.
void Prepend(const char* name, const std::string& folder) {
  const char* old = std::getenv(name);
  std::string rest = old == nullptr ? "" : old;
  std::string list = folder;
  while (!rest.empty()) {
    size_t colon = rest.find(':');
    std::string entry = rest.substr(0, colon);
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    if (!entry.empty() && entry != folder) list += ":" + entry;
  }
  setenv(name, list.c_str(), 1);
}

}  // namespace

std::string ToolkitHome() {
  namespace fs = std::filesystem;
  fs::path home = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  if (!fs::is_directory(home / "lib64")) {
    throw std::runtime_error("this command lies in " + (home / "bin").string() + ", but there is no " +
                             (home / "lib64").string() + " beside it: install it with make toolkit");
  }
  return home.string();
}

void SetToolkitEnvironment(const std::string& home) {
  for (const char* name : {"ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH", "ASCEND_AICPU_PATH"}) {
    setenv(name, home.c_str(), 1);
  }
  setenv("ASCEND_OPP_PATH", (home + "/opp").c_str(), 1);
  setenv("TOOLCHAIN_HOME", (home + "/toolkit").c_str(), 1);
  Prepend("LD_LIBRARY_PATH", home + "/lib64");
  Prepend("PYTHONPATH", home + "/python/site-packages");
  Prepend("PATH", home + "/bin");
}

}  // namespace belay::tool
