#include "ops/matmul/onednn_library.h"

#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "base/library.h"
#include "base/quiet_write.h"

namespace belay::ops {
namespace {

void* Load() {
  constexpr size_t kRoom = size_t{96} << 20;  // half of it is the library
  std::string reason;
  void* library = LoadBeside("libbelay_dnnl.so", SymbolsOf::kProgramFirst, kRoom, &reason);
  if (library == nullptr) {
    QuietWrites quiet;
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
