// The library's only name.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "layers/trace/trace.h"

extern "C" [[gnu::visibility("default")]] belay::rt::Observer* belay_make_layer(
    const belay::rt::CoreFacts& core) {
  const char* path = std::getenv("BELAY_TRACE_FILE");
  if (path != nullptr && *path != '\0') return new belay::trace::Trace(core, path);
  const std::string own = "belay-" + std::to_string(getpid()) + ".pftrace";
  unlink(own.c_str());
  return new belay::trace::Trace(core, own);
}
