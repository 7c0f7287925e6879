#include "layers/race/idle_waits.h"

#include <algorithm>

namespace belay::race {

IdleWaits::Line& IdleWaits::UsedBy(uint32_t stream, int thread) {
  Line& line = lines_[stream];
  if (line.thread == 0) line.thread = thread;
  if (line.thread != thread) line.shared = true;
  return line;
}

void IdleWaits::Waited(uint32_t stream, uint64_t position, int thread, uint32_t call, layers::Stack stack) {
  Line& line = UsedBy(stream, thread);
  Calls& calls = places_[stack];
  calls.call = call;
  calls.streams.insert(stream);
  if (position > line.waited) calls.ordered = true;
  line.waited = std::max(line.waited, position);
}

std::vector<IdleWaits::Place> IdleWaits::Take() {
  std::vector<Place> idle;
  for (auto& [stack, calls] : places_) {
    const bool shared = std::ranges::any_of(calls.streams, [&](uint32_t s) { return lines_[s].shared; });
    if (calls.ordered || calls.told || shared) continue;
    calls.told = true;
    idle.push_back({stack, calls.call});
  }
  return idle;
}

}  // namespace belay::race
