// Finds oneDNN. It lies in a library of its own beside this one, loaded with the first operator
// that needs it: oneDNN and its OpenMP run-time cost process start otherwise.
#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "ops/matmul/gemm.h"

namespace belay::ops {
namespace {

std::string OwnFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0 || info.dli_fname == nullptr)
    return "";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

GemmBackend Load() {
  constexpr const char* kLibrary = "libbelay_dnnl.so";
  std::string folder = OwnFolder();
  void* library = dlopen((folder + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string reason = library == nullptr ? dlerror() : "";
  // Tests are linked into programs in bin/.
  if (library == nullptr)
    library = dlopen((folder + "../lib64/" + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(
        stderr,
        "belay: matrix products run in plain loops, many times slower, because oneDNN was not "
        "found: %s\n",
        reason.c_str());
    return PlainGemm();
  }
  auto run = reinterpret_cast<GemmFunction>(dlsym(library, "belay_dnnl_gemm"));
  auto bf16 = reinterpret_cast<bool (*)()>(dlsym(library, "belay_dnnl_has_bf16"));
  if (run == nullptr || bf16 == nullptr) return PlainGemm();
  return {run, bf16(), "oneDNN"};
}

}  // namespace

const GemmBackend& BestGemm() {
  static const GemmBackend backend = Load();
  return backend;
}

}  // namespace belay::ops
