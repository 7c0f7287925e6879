// Which files the system's loader would take for the libraries of a program, found without running
// it.
#pragma once

#include <string>
#include <vector>

#include "belay/elf_file.h"

namespace belay::tool {

struct LoadedFile {
  std::string name;      // as it is asked for
  std::string path;      // empty: found nowhere
  std::string asked_by;  // path of the file that needs it; empty for the program itself
  std::string found_by;  // "LD_LIBRARY_PATH", "DT_RPATH of ...", ...
  ElfFile elf;
};

// The program (or library) first, then what it needs, and what that needs, in the loader's order.
// With `more_folders` these are searched last, as if the system knew them.
std::vector<LoadedFile> FindLibraries(const std::string& program,
                                      const std::vector<std::string>& more_folders);

}  // namespace belay::tool
