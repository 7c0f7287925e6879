// The library's only name.
#include "layers/memory/memory.h"

extern "C" [[gnu::visibility("default")]] belay::rt::Observer* belay_make_layer(
    const belay::rt::CoreFacts& core) {
  return new belay::misuse::Memory(core);
}
