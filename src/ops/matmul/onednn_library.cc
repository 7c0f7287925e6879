#include "ops/matmul/onednn_library.h"

#include <dlfcn.h>

#include <cstdio>
#include <string>

namespace belay::ops {
namespace {

std::string OwnFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0 || info.dli_fname == nullptr) return "";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

void* Load() {
  constexpr const char* kLibrary = "libbelay_dnnl.so";
  std::string folder = OwnFolder();
  void* library = dlopen((folder + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string reason = library == nullptr ? dlerror() : "";
  // Tests are linked into programs in bin/.
  if (library == nullptr) library = dlopen((folder + "../lib64/" + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr,
                 "belay: matrix products and convolutions run in plain loops, many times slower, "
                 "because oneDNN was not found: %s\n",
                 reason.c_str());
  }
  return library;
}

}  // namespace

void* OneDnnSymbol(const char* name) {
  static void* const library = Load();
  return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace belay::ops
