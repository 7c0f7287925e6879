// The library's only name.
#include <cstdlib>
#include <memory>

#include "layers/explore/digests.h"
#include "layers/support/guarded_observer.h"
#include "layers/support/shared_block.h"

namespace belay::explore {
namespace {

// That of the command, for the first process; the others count for themselves.
Log& TheLog() {
  auto* shared = static_cast<Log*>(layers::FindSharedBlock(Log::kVariable, sizeof(Log)));
  if (shared != nullptr && shared->processes++ == 0) return *shared;
  return *std::make_unique<Log>().release();
}

}  // namespace
}  // namespace belay::explore

extern "C" [[gnu::visibility("default")]] belay::rt::Observer* belay_make_layer(
    const belay::rt::CoreFacts& core) {
  using belay::explore::Log;
  const auto number = [](const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  };
  return belay::layers::MakeGuarded("explore", [&] {
    return new belay::explore::Digests(core, belay::explore::TheLog(), number("BELAY_EXPLORE"),
                                       number(Log::kTell));
  });
}
