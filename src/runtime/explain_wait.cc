#include "runtime/explain_wait.h"

#include <fmt/format.h>

namespace belay::rt {

std::string WaitWords(const ParkPlace& place) {
  switch (place.reason) {
    case ParkReason::kPosition:
      return "waits for ";
    case ParkReason::kTurn:
      return "waits for its turn to run a model, after ";
    case ParkReason::kTicket:
      return fmt::format("waits for event {}, which nobody has recorded", place.event);
    case ParkReason::kCallback:
      return "waits for a callback to return";
    case ParkReason::kPoll:
      return "waits for a notify, for a value in memory or for another process";
    case ParkReason::kLaunch:
      return "waits inside a model that it runs";
    case ParkReason::kNone:
      break;
  }
  return "is at work, or waits for a core";
}

std::string ExplainWait(Stream& stream) {
  constexpr int kMostLinks = 8;
  std::string text = fmt::format("stream {} ", stream.id());
  Stream* at = &stream;
  for (int link = 0; link < kMostLinks; ++link) {
    ParkPlace place = at->parked_at();
    text += WaitWords(place);
    at = place.source;
    if (at == nullptr) return text;
    if (at == &stream) return text + fmt::format("stream {}: none of them can get on", at->id());
    text += fmt::format("stream {}, which ", at->id());
  }
  return text + "waits, too";
}

}  // namespace belay::rt
