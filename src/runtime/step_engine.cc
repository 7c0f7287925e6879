#include "runtime/step_engine.h"

#include <utility>

namespace belay::rt {

const std::vector<Stream*>& StepEngine::ready() {
  for (size_t i = 0; i < polls_.size();) {
    if (polls_[i].ready()) {
      Stream* stream = polls_[i].stream;
      polls_.erase(polls_.begin() + static_cast<ptrdiff_t>(i));
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

void StepEngine::RunAll() {
  while (!ready().empty()) Step(0);
}

bool StepEngine::WaitFor(Stream& stream, uint64_t position, int64_t) {
  while (!stream.Reached(position) && !ready().empty()) Step(0);
  return stream.Reached(position);
}

void StepEngine::ExpireDeadlines() {
  for (const Watched& w : std::exchange(watched_, {})) w.stream->CancelPark(w.park_serial);
}

}  // namespace belay::rt
