// What the core finds by name.
#include "layers/trace/trace.h"

extern "C" [[gnu::visibility("default")]] belay::rt::Observer* belay_make_layer(
    const belay::rt::CoreFacts& core) {
  return new belay::trace::Trace(core);
}
