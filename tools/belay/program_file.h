// What kind of file a program is, as far as starting it with other libraries goes.
#pragma once

#include <string>

namespace belay::tool {

enum class ProgramKind {
  kMissing,
  kDynamic,  // loads shared libraries
  kStatic,   // does not
  kForeign,  // for another processor
  kOther,    // a script, or a file that cannot be read
};

struct ProgramFile {
  std::string path;  // where the system would find it; as given when missing
  ProgramKind kind = ProgramKind::kMissing;
  bool changes_user = false;  // set-user-id or set-group-id: the loader ignores LD_LIBRARY_PATH
};

// Looks along PATH for a name without a slash, as the system does.
ProgramFile FindProgram(const std::string& name);

}  // namespace belay::tool
