#include "runtime/step_engine.h"

#include <algorithm>
#include <utility>

namespace belay::rt {

const std::vector<Stream*>& StepEngine::ready() {
  for (size_t i = 0; i < watched_polls_.size();) {
    if (watched_polls_[i].ready()) {
      Stream* stream = watched_polls_[i].stream;
      watched_polls_.erase(watched_polls_.begin() + static_cast<ptrdiff_t>(i));
      stream->Fulfil();
    } else {
      ++i;
    }
  }
  std::erase_if(ready_, [](Stream* s) { return s->state() != StreamState::kReady; });
  return ready_;
}

void StepEngine::Step(size_t i) {
  Stream* stream = ready().at(i);
  ready_.erase(ready_.begin() + static_cast<ptrdiff_t>(i));
  if (stream->TryTake()) stream->Run(stream->completed() + 1);
}

size_t StepEngine::First() {
  auto higher = [](const Stream* a, const Stream* b) { return a->priority() < b->priority(); };
  return static_cast<size_t>(std::min_element(ready_.begin(), ready_.end(), higher) - ready_.begin());
}

void StepEngine::RunAll() {
  while (!ready().empty()) Step(First());
}

bool StepEngine::Await(Stream& stream, uint64_t position, int64_t) {
  while (!stream.Reached(position) && !ready().empty()) Step(First());
  return stream.Reached(position);
}

void StepEngine::ExpireDeadlines() {
  for (const Watched& w : std::exchange(watched_, {})) w.stream->CancelPark(w.park_serial);
}

}  // namespace belay::rt
