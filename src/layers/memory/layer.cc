// The library's only name.
#include "layers/memory/memory.h"
#include "layers/support/guarded_observer.h"

extern "C" [[gnu::visibility("default")]] belay::rt::Observer* belay_make_layer(
    const belay::rt::CoreFacts& core) {
  return belay::layers::MakeGuarded("memory", [&] { return new belay::misuse::Memory(core); });
}
