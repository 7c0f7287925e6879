#include "base/library.h"

#include <dlfcn.h>

#include "base/sanitizer.h"

namespace belay {
namespace {

std::string OwnFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0 || info.dli_fname == nullptr) return "";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// Among its own symbols before anybody else's: a program may bring another version of what the library
// needs. Sanitizers refuse that flag.
constexpr int kFlags = RTLD_NOW | RTLD_LOCAL
#if !defined(BELAY_ASAN) && !defined(BELAY_TSAN)
                       | RTLD_DEEPBIND
#endif
    ;

}  // namespace

void* LoadBeside(const char* name, std::string* reason) {
  std::string folder = OwnFolder();
  if (void* library = dlopen((folder + name).c_str(), kFlags)) return library;
  *reason = dlerror();
  void* library = dlopen((folder + "../lib64/" + name).c_str(), kFlags);
  if (library == nullptr) *reason += std::string("; ") + dlerror();
  return library;
}

}  // namespace belay
