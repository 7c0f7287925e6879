#include "belay/toolkit.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace belay::tool {
namespace {

// Puts `folders` of the toolkit first in the list `name` and takes out their other mentions, as
// set_env.sh does.
void Prepend(const char* name, const std::string& home, std::vector<std::string> folders) {
  std::string list;
  for (std::string& folder : folders) {
    folder = home + "/" + folder;
    list += (list.empty() ? "" : ":") + folder;
  }
  for (const std::string& entry : ListOf(name)) {
    if (std::find(folders.begin(), folders.end(), entry) == folders.end()) list += ":" + entry;
  }
  setenv(name, list.c_str(), 1);
}

}  // namespace

std::vector<std::string> ListOf(const char* name) {
  const char* value = std::getenv(name);
  std::istringstream text(value == nullptr ? "" : value);
  std::vector<std::string> entries;
  for (std::string entry; std::getline(text, entry, ':');) {
    if (!entry.empty()) entries.push_back(entry);
  }
  return entries;
}

void AddToList(const char* name, const std::string& value, char between) {
  const char* old = std::getenv(name);
  const std::string list = old == nullptr || *old == '\0' ? value : std::string(old) + between + value;
  setenv(name, list.c_str(), 1);
}

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
  const std::string operators = "opp/built-in/op_impl/ai_core/tbe";
  Prepend("LD_LIBRARY_PATH", home,
          {"lib64", "lib64/plugin/opskernel", "lib64/plugin/nnengine",
           operators + "/op_tiling/lib/linux/" BELAY_ARCH, operators + "/op_tiling", "tools/aml/lib64"});
  Prepend("PYTHONPATH", home, {"python/site-packages", operators});
  Prepend("PATH", home, {"bin", "compiler/ccec_compiler/bin"});
}

}  // namespace belay::tool
