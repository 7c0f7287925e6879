// What operators tell a profiler.
#include "api/handlers.h"
#include "base/clock.h"

namespace belay::api {

uint64_t MsprofSysCycleTime() { return static_cast<uint64_t>(NowNs()); }

}  // namespace belay::api
