#include "runtime/poll.h"

namespace belay::rt {

bool ParkUntil(Stream& stream, const Poll& poll, int64_t until_ns) {
  Engine& engine = TheEngine();
  // Watched before it is parked: once parked, the stream may be running elsewhere.
  engine.WatchPoll(stream, stream.park_serial() + 1, poll);
  const uint64_t park =
      stream.Park({ParkReason::kPoll, nullptr, [](void*, Stream& parked) {
                     return TheEngine().ForgetPoll(parked) ? CancelResult::kDone : CancelResult::kGone;
                   }});
  if (park == 0) {
    engine.ForgetPoll(stream);
    return false;
  }
  engine.LookAtPoll(stream);
  if (until_ns != 0) stream.LimitPark(park, until_ns);
  return true;
}

}  // namespace belay::rt
