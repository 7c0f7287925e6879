#include "layers/trace/late_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace belay::trace {
namespace {

#if defined(__aarch64__)
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT, kGlobal = R_AARCH64_GLOB_DAT;
#else
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT, kGlobal = R_X86_64_GLOB_DAT;
#endif
constexpr std::string_view kEntry = "belay_";
constexpr const char* kAnyEntry = "belay_aclInit";

// Of a loaded library, what its dynamic section tells.
struct Relocations {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * of_calls = nullptr;
  size_t of_calls_bytes = 0;
  const ElfW(Rela) * of_data = nullptr;
  size_t of_data_bytes = 0;
};

template <class T>
const T* Pointer(const ElfW(Dyn) & entry) {
  return reinterpret_cast<const T*>(entry.d_un.d_ptr);
}

Relocations RelocationsOf(const ElfW(Dyn) * entry) {
  Relocations found;
  for (; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        found.symbols = Pointer<ElfW(Sym)>(*entry);
        break;
      case DT_STRTAB:
        found.names = Pointer<char>(*entry);
        break;
      case DT_JMPREL:
        found.of_calls = Pointer<ElfW(Rela)>(*entry);
        break;
      case DT_PLTRELSZ:
        found.of_calls_bytes = entry->d_un.d_val;
        break;
      case DT_RELA:
        found.of_data = Pointer<ElfW(Rela)>(*entry);
        break;
      case DT_RELASZ:
        found.of_data_bytes = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return found;
}

// Whose entries the tables lead to.
struct Wanted {
  void* library;
  const void* core;  // where the core and the library lie: their own tables stay
  const void* calls;
};

// One library's tables. Its pages that were made read-only after loading are writable for a moment.
class Tables {
 public:
  Tables(const dl_phdr_info& info, const Wanted& wanted) : base_(info.dlpi_addr), wanted_(wanted) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = info.dlpi_phdr[i];
      if (part.p_type == PT_DYNAMIC)
        relocations_ = RelocationsOf(reinterpret_cast<const ElfW(Dyn)*>(base_ + part.p_vaddr));
      if (part.p_type != PT_GNU_RELRO) continue;
      const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
      sealed_ = (base_ + part.p_vaddr) / page * page;
      sealed_end_ = (base_ + part.p_vaddr + part.p_memsz) / page * page;
    }
  }

  void Lead() {
    if (relocations_.symbols == nullptr || relocations_.names == nullptr) return;
    Each(relocations_.of_calls, relocations_.of_calls_bytes);
    Each(relocations_.of_data, relocations_.of_data_bytes);
    if (open_) mprotect(reinterpret_cast<void*>(sealed_), sealed_end_ - sealed_, PROT_READ);
  }

 private:
  void Each(const ElfW(Rela) * relocation, size_t bytes) {
    if (relocation == nullptr) return;
    for (const auto* end = relocation + bytes / sizeof *relocation; relocation != end; ++relocation) {
      const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation->r_info));
      if (type != kJumpSlot && type != kGlobal) continue;
      const ElfW(Sym)& symbol = relocations_.symbols[ELF64_R_SYM(relocation->r_info)];
      const char* name = relocations_.names + symbol.st_name;
      if (std::strncmp(name, kEntry.data(), kEntry.size()) != 0) continue;
      void* entry = dlsym(wanted_.library, name);
      if (entry != nullptr) Put(base_ + relocation->r_offset, entry);
    }
  }

  // Others may be calling by way of it.
  void Put(uintptr_t slot, void* entry) {
    const bool sealed = slot >= sealed_ && slot < sealed_end_;
    if (sealed && !open_) {
      open_ = mprotect(reinterpret_cast<void*>(sealed_), sealed_end_ - sealed_, PROT_READ | PROT_WRITE) == 0;
      if (!open_) return;
    }
    __atomic_store_n(reinterpret_cast<void**>(slot), entry, __ATOMIC_RELEASE);
  }

  const uintptr_t base_;
  const Wanted& wanted_;
  Relocations relocations_;
  uintptr_t sealed_ = 0, sealed_end_ = 0;
  bool open_ = false;
};

const void* LoadedAt(void* symbol) {
  Dl_info facts;
  return symbol != nullptr && dladdr(symbol, &facts) != 0 ? facts.dli_fbase : nullptr;
}

std::string Beside(const char* name) {
  Dl_info own;
  if (dladdr(reinterpret_cast<void*>(&SeeCalls), &own) == 0) return name;
  const std::string_view path = own.dli_fname;
  const size_t slash = path.rfind('/');
  return std::string(path.substr(0, slash == std::string_view::npos ? 0 : slash + 1)) + name;
}

}  // namespace

bool SeeCalls(bool on) {
  void* core = dlopen("libbelay_core.so", RTLD_LAZY | RTLD_NOLOAD);
  // One that stands before the core for everybody was loaded before the program.
  static const bool before = core != nullptr && LoadedAt(dlsym(RTLD_DEFAULT, kAnyEntry)) != nullptr &&
                             LoadedAt(dlsym(RTLD_DEFAULT, kAnyEntry)) != LoadedAt(dlsym(core, kAnyEntry));
  if (before) return true;
  void* calls = dlopen(Beside("libbelay_calls.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (core == nullptr || calls == nullptr) return false;
  Wanted wanted{on ? calls : core, LoadedAt(dlsym(core, kAnyEntry)), LoadedAt(dlsym(calls, kAnyEntry))};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* of) {
        const auto& whose = *static_cast<const Wanted*>(of);
        const auto* base = reinterpret_cast<const void*>(info->dlpi_addr);
        const bool system = info->dlpi_name == nullptr || *info->dlpi_name == '\0' ||
                            std::strstr(info->dlpi_name, "linux-vdso") != nullptr;
        if (!system && base != whose.core && base != whose.calls) Tables(*info, whose).Lead();
        return 0;
      },
      &wanted);
  return true;
}

}  // namespace belay::trace
