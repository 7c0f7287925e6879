#include "belay/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace belay::tool {
namespace {

// Reads at offsets that a file may lie about.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T At(uint64_t offset) const {
    T value;
    std::memcpy(&value, Part(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::string_view Part(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      throw std::runtime_error("the file is damaged or cut off");
    return bytes_.substr(offset, size);
  }

 private:
  std::string_view bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes), header_(bytes_.At<Elf64_Ehdr>(0)) {
    for (int i = 0; i < header_.e_shnum; ++i) {
      sections_.push_back(bytes_.At<Elf64_Shdr>(header_.e_shoff + uint64_t{sizeof(Elf64_Shdr)} * i));
    }
  }

  void Read(ElfFile& file) const {
    file.is_library = header_.e_type == ET_DYN;
    ReadInterpreter(file);
    for (const Elf64_Shdr& section : sections_) {
      switch (section.sh_type) {
        case SHT_DYNAMIC:
          ReadDynamic(section, file);
          break;
        case SHT_DYNSYM:
          ReadSymbols(section, file);
          break;
        case SHT_GNU_verneed:
          ReadNeededVersions(section, file);
          break;
        case SHT_GNU_verdef:
          ReadVersions(section, file);
          break;
        default:
          break;
      }
    }
  }

 private:
  std::string_view Strings(const Elf64_Shdr& section) const {
    if (section.sh_link >= sections_.size()) throw std::runtime_error("the file is damaged");
    const Elf64_Shdr& strings = sections_[section.sh_link];
    return bytes_.Part(strings.sh_offset, strings.sh_size);
  }

  static std::string Text(std::string_view strings, uint64_t offset) {
    if (offset >= strings.size()) throw std::runtime_error("the file is damaged");
    return std::string(strings.substr(offset, strings.find('\0', offset) - offset));
  }

  template <typename T, typename F>
  void ForEach(const Elf64_Shdr& section, F&& use) const {
    for (uint64_t i = 0; i < section.sh_size / sizeof(T); ++i)
      use(bytes_.At<T>(section.sh_offset + i * sizeof(T)));
  }

  void ReadInterpreter(ElfFile& file) const {
    for (int i = 0; i < header_.e_phnum; ++i) {
      auto part = bytes_.At<Elf64_Phdr>(header_.e_phoff + uint64_t{sizeof(Elf64_Phdr)} * i);
      if (part.p_type == PT_INTERP) file.interpreter = Text(bytes_.Part(part.p_offset, part.p_filesz), 0);
    }
  }

  void ReadDynamic(const Elf64_Shdr& section, ElfFile& file) const {
    std::string_view strings = Strings(section);
    ForEach<Elf64_Dyn>(section, [&](const Elf64_Dyn& entry) {
      uint64_t value = entry.d_un.d_val;
      switch (entry.d_tag) {
        case DT_NEEDED:
          file.needed.push_back(Text(strings, value));
          break;
        case DT_SONAME:
          file.soname = Text(strings, value);
          break;
        case DT_RPATH:
          file.rpath = Text(strings, value);
          break;
        case DT_RUNPATH:
          file.runpath = Text(strings, value);
          break;
        case DT_FLAGS:
          file.bind_now |= (value & DF_BIND_NOW) != 0;
          break;
        case DT_FLAGS_1:
          file.bind_now |= (value & DF_1_NOW) != 0;
          file.is_library &= (value & DF_1_PIE) == 0;
          break;
        default:
          break;
      }
    });
  }

  void ReadSymbols(const Elf64_Shdr& section, ElfFile& file) const {
    std::string_view strings = Strings(section);
    ForEach<Elf64_Sym>(section, [&](const Elf64_Sym& symbol) {
      int binding = ELF64_ST_BIND(symbol.st_info);
      if (symbol.st_name == 0 || binding == STB_LOCAL) return;
      file.symbols.push_back(
          {Text(strings, symbol.st_name), symbol.st_shndx != SHN_UNDEF, binding == STB_WEAK});
    });
  }

  void ReadNeededVersions(const Elf64_Shdr& section, ElfFile& file) const {
    std::string_view strings = Strings(section);
    uint64_t at = section.sh_offset;
    for (uint32_t i = 0; i < section.sh_info; ++i) {
      auto need = bytes_.At<Elf64_Verneed>(at);
      std::vector<std::string>& versions = file.needed_versions[Text(strings, need.vn_file)];
      uint64_t entry_at = at + need.vn_aux;
      for (int k = 0; k < need.vn_cnt; ++k) {
        auto entry = bytes_.At<Elf64_Vernaux>(entry_at);
        if ((entry.vna_flags & VER_FLG_WEAK) == 0) versions.push_back(Text(strings, entry.vna_name));
        if (entry.vna_next == 0) break;
        entry_at += entry.vna_next;
      }
      if (need.vn_next == 0) break;
      at += need.vn_next;
    }
  }

  void ReadVersions(const Elf64_Shdr& section, ElfFile& file) const {
    std::string_view strings = Strings(section);
    uint64_t at = section.sh_offset;
    for (uint32_t i = 0; i < section.sh_info; ++i) {
      auto version = bytes_.At<Elf64_Verdef>(at);
      file.versions.push_back(Text(strings, bytes_.At<Elf64_Verdaux>(at + version.vd_aux).vda_name));
      if (version.vd_next == 0) break;
      at += version.vd_next;
    }
  }

  Bytes bytes_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace

std::optional<ElfFile> ParseElf(std::string_view bytes) {
  if (bytes.substr(0, SELFMAG) != ELFMAG || bytes.size() < sizeof(Elf64_Ehdr)) return std::nullopt;
  ElfFile file;
  file.machine = Bytes(bytes).At<uint16_t>(offsetof(Elf64_Ehdr, e_machine));
  file.is_64_bit = bytes[EI_CLASS] == ELFCLASS64;
  if (file.is_64_bit && file.machine == OwnMachine()) Reader(bytes).Read(file);
  return file;
}

std::optional<ElfFile> ReadElf(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat state = {};
  if (fd < 0 || fstat(fd, &state) != 0) {
    std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    throw std::runtime_error("cannot read " + path + ": " + why);
  }
  auto size = static_cast<size_t>(state.st_size);
  void* p =
      S_ISREG(state.st_mode) && size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  close(fd);
  if (p == MAP_FAILED) return std::nullopt;
  std::optional<ElfFile> file;
  std::string damage;
  try {
    file = ParseElf({static_cast<const char*>(p), size});
  } catch (const std::runtime_error& error) {
    damage = error.what();
  }
  munmap(p, size);
  if (!damage.empty()) throw std::runtime_error(path + ": " + damage);
  return file;
}

uint16_t OwnMachine() {
#if defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_X86_64;
#endif
}

std::string MachineName(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "64-bit Arm";
    case EM_386:
      return "32-bit x86";
    case EM_ARM:
      return "32-bit Arm";
    case EM_RISCV:
      return "RISC-V";
    default:
      return "machine " + std::to_string(machine);
  }
}

}  // namespace belay::tool
