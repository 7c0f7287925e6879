#include "belay/program_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "belay/elf_file.h"

namespace belay::tool {
namespace {

bool IsProgram(const std::string& path) {
  struct stat state;
  return stat(path.c_str(), &state) == 0 && S_ISREG(state.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string Search(const std::string& name) {
  const char* list = std::getenv("PATH");
  std::string rest = list == nullptr ? "/bin:/usr/bin" : list;
  for (;;) {
    size_t colon = rest.find(':');
    std::string folder = rest.substr(0, colon);
    std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (IsProgram(path)) return path;
    if (colon == std::string::npos) return "";
    rest.erase(0, colon + 1);
  }
}

ProgramKind KindOf(const std::string& path) {
  try {
    std::optional<ElfFile> elf = ReadElf(path);
    if (!elf) return ProgramKind::kOther;
    if (!elf->is_64_bit || elf->machine != OwnMachine()) return ProgramKind::kForeign;
    // Only the program's own interpreter, the loader, loads shared libraries.
    return elf->interpreter.empty() ? ProgramKind::kStatic : ProgramKind::kDynamic;
  } catch (const std::runtime_error&) {
    return ProgramKind::kOther;
  }
}

}  // namespace

ProgramFile FindProgram(const std::string& name) {
  ProgramFile program{name, ProgramKind::kMissing, false};
  std::string path = name.find('/') == std::string::npos ? Search(name) : name;
  struct stat state;
  if (path.empty() || stat(path.c_str(), &state) != 0) return program;
  program.path = path;
  program.kind = KindOf(path);
  program.changes_user = S_ISREG(state.st_mode) && (state.st_mode & (S_ISUID | S_ISGID)) != 0;
  return program;
}

}  // namespace belay::tool
