// The library's only name.
#include <cstdlib>
#include <string_view>

#include "layers/race/race.h"
#include "layers/support/guarded_observer.h"
#include "layers/support/report_file.h"
#include "layers/support/tally.h"

extern "C" [[gnu::visibility("default")]] belay::rt::Observer* belay_make_layer(
    const belay::rt::CoreFacts& core) {
  ++belay::layers::TheTally().processes;
  return belay::layers::MakeGuarded("race", [&] {
    auto* race = new belay::race::Race(core);
    if (const char* host = std::getenv(belay::layers::kHostVariable))
      race->WatchHost(std::string_view(host) == belay::layers::kHostAll);
    return race;
  });
}
