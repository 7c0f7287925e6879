// What the loader reads in a program or a shared library (ELF, 64 bit, little-endian).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::tool {

struct ElfSymbol {
  std::string name;
  bool defined = false;
  bool weak = false;
};

struct ElfFile {
  uint16_t machine = 0;
  bool is_64_bit = false;
  std::string interpreter;          // the loader that it names; only programs have one
  std::vector<std::string> needed;  // libraries, by name
  std::string soname;
  std::string rpath;  // as written, with $ORIGIN
  std::string runpath;
  bool is_library = false;         // not a program, whether it has an interpreter or not
  bool bind_now = false;           // all functions are looked up at the start
  std::vector<ElfSymbol> symbols;  // of the dynamic symbol table
  std::map<std::string, std::vector<std::string>> needed_versions;  // by library
  std::vector<std::string> versions;                                // that it defines itself
};

// Nothing for a file that is no ELF file. Throws std::runtime_error for one that cannot be read or
// is damaged. Of a file for another kind of processor only the first two fields are filled.
std::optional<ElfFile> ReadElf(const std::string& path);
std::optional<ElfFile> ParseElf(std::string_view bytes);

// The kind of processor that this command was built for.
uint16_t OwnMachine();
std::string MachineName(uint16_t machine);

}  // namespace belay::tool
