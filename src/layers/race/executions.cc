#include "layers/race/executions.h"

#include <algorithm>

#include "layers/race/patience.h"

namespace belay::race {
namespace {

constexpr int kWatched = 3;  // executions of a model by a thread

}  // namespace

std::optional<Execution> Executions::Other(const Execution& execution) const {
  const auto other = std::ranges::find_if(running_, [&](const Execution& running) {
    return running.model == execution.model && running.thread != execution.thread;
  });
  return other == running_.end() ? std::nullopt : std::optional(*other);
}

std::optional<Execution> Executions::Begin(const Execution& execution) {
  std::optional<Execution> other;
  bool watched = false;
  {
    std::lock_guard guard(lock_);
    other = Other(execution);
    running_.push_back(execution);
    watched = counts_[{execution.model, execution.thread}]++ < kWatched;
  }
  if (watched && !other && HasOtherThreads()) StandStill(execution);
  return other;
}

void Executions::StandStill(const Execution& execution) {
  const Patience patience;
  do {
    std::lock_guard guard(lock_);
    if (Other(execution)) return;
  } while (patience.Wait());
}

void Executions::End(uint32_t model, int thread) {
  std::lock_guard guard(lock_);
  std::erase_if(running_,
                [&](const Execution& running) { return running.model == model && running.thread == thread; });
}

}  // namespace belay::race
