#include "base/library.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <new>

#include "base/sanitizer.h"
#include "base/spare_memory.h"

namespace belay {
namespace {

std::string OwnFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0 || info.dli_fname == nullptr) return "";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// Sanitizers refuse the flag.
#if defined(BELAY_ASAN) || defined(BELAY_TSAN)
constexpr int kLibraryFirst = 0;
#else
constexpr int kLibraryFirst = RTLD_DEEPBIND;
#endif

// Throws when it was memory that the loader lacked: another time the library may be loaded.
std::string WhyNot() {
  const char* told = dlerror();
  if (told == nullptr) throw std::bad_alloc();
  std::string reason = told;
  for (const char* memory : {"out of memory", "Cannot allocate memory"}) {
    if (reason.find(memory) != std::string::npos) throw std::bad_alloc();
  }
  // Of a library that the library needs it says no more than this.
  if (reason.ends_with("failed to map segment from shared object")) throw std::bad_alloc();
  return reason;
}

}  // namespace

void* LoadBeside(const char* name, SymbolsOf order, size_t room, std::string* reason) {
  RequireMemory(room);
  // The C library loads what it lets exceptions pass with at the first one, or ends the process.
  void* frame;
  backtrace(&frame, 1);
  const int flags = RTLD_NOW | RTLD_LOCAL | (order == SymbolsOf::kLibraryFirst ? kLibraryFirst : 0);
  std::string folder = OwnFolder();
  if (void* library = dlopen((folder + name).c_str(), flags)) return library;
  *reason = WhyNot();
  void* library = dlopen((folder + "../lib64/" + name).c_str(), flags);
  if (library == nullptr) *reason += "; " + WhyNot();
  return library;
}

}  // namespace belay
