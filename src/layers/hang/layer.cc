// The library's only name.
#include "layers/hang/hang.h"
#include "layers/support/guarded_observer.h"

extern "C" [[gnu::visibility("default")]] belay::rt::Observer* belay_make_layer(
    const belay::rt::CoreFacts& core) {
  return belay::layers::MakeGuarded("hang", [&] {
    auto* hang = new belay::hang::Hang(core, belay::hang::ReadOptions());
    hang->Start();
    return hang;
  });
}
