// The library's only name.
#include "layers/numbers/numbers.h"
#include "layers/support/guarded_observer.h"

extern "C" [[gnu::visibility("default")]] belay::rt::Observer* belay_make_layer(
    const belay::rt::CoreFacts& core) {
  return belay::layers::MakeGuarded("numbers", [&] { return new belay::numbers::Numbers(core); });
}
