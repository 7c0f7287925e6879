// The library's only name.
#include "layers/race/race.h"
#include "layers/support/tally.h"

extern "C" [[gnu::visibility("default")]] belay::rt::Observer* belay_make_layer(
    const belay::rt::CoreFacts& core) {
  ++belay::layers::TheTally().processes;
  return new belay::race::Race(core);
}
