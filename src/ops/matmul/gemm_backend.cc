// Finds oneDNN. It lies in a library of its own beside this one, loaded with the first operator
// that needs it: oneDNN and its OpenMP run-time cost process start otherwise.
#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "base/library.h"
#include "ops/matmul/gemm.h"

namespace belay::ops {
namespace {

GemmBackend Load() {
  constexpr const char* kLibrary = "libbelay_dnnl.so";
  std::string reason;
  void* library = LoadBeside(kLibrary, &reason);
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
