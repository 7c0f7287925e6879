#include "runtime/last_work.h"

#include <algorithm>

#include "base/clock.h"
#include "runtime/engine.h"

namespace belay::rt {
namespace {

// Nothing that is known here takes the stream off that place. A notify or a value may be written by a stream
// that gets on, and who has the turn of a model now is one of the device's streams, too.
bool StaysThere(const ParkPlace& place) {
  switch (place.reason) {
    case ParkReason::kTicket:
    case ParkReason::kPoll:
      return true;
    case ParkReason::kLaunch:
      return place.cancel != nullptr;  // else a host function, which returns
    case ParkReason::kTurn:
      return place.source == nullptr || place.source->Reached(place.position);
    default:
      return false;
  }
}

// At this moment. Streams that wait for each other in a circle do not get on either.
bool GetsOn(Stream& stream) {
  constexpr int kMostLinks = 64;
  Stream* at = &stream;
  for (int link = 0; link < kMostLinks; ++link) {
    const ParkPlace place = at->parked_at();
    if (StaysThere(place)) return false;
    if (place.source == nullptr || place.source->Reached(place.position)) return true;
    at = place.source;
  }
  return false;
}

}  // namespace

bool LastWork::Over() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return !part.awaited || part.Over(); });
}

// Else *moving is one that does.
bool LastWork::NoneGetsOn(const Part** moving) {
  for (Part& part : parts_) {
    part.park_serial = part.stream->park_serial();
    if (part.Over() || !GetsOn(*part.stream)) continue;
    *moving = &part;
    return false;
  }
  return true;
}

// Nothing has happened since NoneGetsOn looked at them one by one, so they stood still together.
bool LastWork::AllStay() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
    return part.Over() || (!GetsOn(*part.stream) && part.stream->park_serial() == part.park_serial);
  });
}

void LastWork::Await() {
  constexpr int64_t kLookAgainNs = 10'000'000;  // what waits for a stream that moves may stop to do so
  while (!Over()) {
    const Part* moving = nullptr;
    if (!NoneGetsOn(&moving)) {
      TheEngine().WaitFor(*moving->stream, moving->tail, NowNs() + kLookAgainNs);
      continue;
    }
    // A value that a task has written may not have been looked at.
    for (const Part& part : parts_) TheEngine().LookAtPoll(*part.stream);
    if (AllStay()) break;
  }
  for (const Part& part : parts_) {
    if (part.awaited) part.stream->HostSees(part.stream->completed());
  }
}

}  // namespace belay::rt
