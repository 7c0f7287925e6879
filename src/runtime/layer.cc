#include "runtime/layer.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/library.h"
#include "runtime/callback_pool.h"
#include "runtime/capture.h"
#include "runtime/context.h"
#include "runtime/explain_wait.h"
#include "runtime/stream.h"

namespace belay::rt {
namespace {

int DeviceOf(const Stream& stream) noexcept { return stream.context().device().id(); }
uint32_t CurrentCall() noexcept { return t_current_call; }
ParkPlace ParkedAt(const Stream& stream) {
  return const_cast<Stream&>(stream).parked_at();
}  // it takes a lock

void Load(const std::string& name) {
  static constexpr CoreFacts kCore{&Lookup,   &BlockSerial, &CallName, &InCallback,
                                   &DeviceOf, &CurrentCall, &ParkedAt, &WaitWords};
  std::string why;
  constexpr size_t kRoom = size_t{8} << 20;
  void* library =
      LoadBeside(("libbelay_layer_" + name + ".so").c_str(), SymbolsOf::kProgramFirst, kRoom, &why);
  auto make = library == nullptr ? nullptr : reinterpret_cast<MakeLayer>(dlsym(library, "belay_make_layer"));
  if (make == nullptr) {
    std::fprintf(
        stderr,
        "belay: the layer '%s' of BELAY_LAYERS cannot be loaded (%s); the program goes on without it\n",
        name.c_str(), why.empty() ? "it is no layer" : why.c_str());
    return;
  }
  Observers::Add(*make(kCore));
}

}  // namespace

void LoadLayers() {
  const char* list = std::getenv("BELAY_LAYERS");
  if (list == nullptr || Observers::any()) return;
  for (std::string_view rest = list; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (!name.empty()) Load(std::string(name));
  }
}

}  // namespace belay::rt
