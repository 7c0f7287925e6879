#include "belay/program_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

namespace belay::tool {
namespace {

#if defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
constexpr Elf64_Half kMachine = EM_X86_64;
#endif

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
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header = {};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return ProgramKind::kOther;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return ProgramKind::kOther;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine) return ProgramKind::kForeign;
  // Only the program's own interpreter, the loader, loads shared libraries.
  std::vector<Elf64_Phdr> parts(header.e_phnum);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  if (!file.read(reinterpret_cast<char*>(parts.data()), static_cast<std::streamsize>(parts.size() * sizeof parts[0]))) {
    return ProgramKind::kOther;
  }
  for (const Elf64_Phdr& part : parts) {
    if (part.p_type == PT_INTERP) return ProgramKind::kDynamic;
  }
  return ProgramKind::kStatic;
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
