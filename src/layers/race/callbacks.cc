#include "layers/race/callbacks.h"

#include <algorithm>

#include "layers/race/patience.h"
#include "layers/support/this_thread.h"

namespace belay::race {
namespace {

constexpr int kCallbacksWatched = 3;  // of each place
constexpr size_t kMostCallbacks = 64;

}  // namespace

Callbacks::Watched* Callbacks::Find(const Epoch& at) {
  const auto found = std::ranges::find_if(watched_, [&](const Watched& w) { return w.at == at; });
  return found == watched_.end() ? nullptr : &*found;
}

void Callbacks::Launched(const Epoch& at, uint32_t site) {
  std::lock_guard guard(lock_);
  if (watched_.size() >= kMostCallbacks || counts_[site]++ >= kCallbacksWatched) return;
  watched_.push_back({at, false});
  any_.store(true, std::memory_order_release);
}

void Callbacks::Begin(const Epoch& at) {
  {
    std::lock_guard guard(lock_);
    running_.push_back({at, layers::ThisThread()});
  }
  const Patience patience;
  do {
    std::lock_guard guard(lock_);
    const Watched* watched = Find(at);
    if (watched == nullptr || watched->met) return;
  } while (patience.Wait());
}

void Callbacks::End(const Epoch& at) {
  std::lock_guard guard(lock_);
  std::erase_if(running_, [&](const Running& running) { return running.at == at; });
  std::erase_if(watched_, [&](const Watched& watched) { return watched.at == at; });
  any_.store(!watched_.empty(), std::memory_order_release);
}

std::optional<Epoch> Callbacks::Here() const {
  std::lock_guard guard(lock_);
  const int thread = layers::ThisThread();
  const auto found = std::ranges::find_if(running_, [&](const Running& r) { return r.thread == thread; });
  return found == running_.end() ? std::nullopt : std::optional(found->at);
}

// Who has stood still for one does so no more.
void Callbacks::Meet() {
  std::vector<Epoch> awaited;
  const auto are_over = [&] {
    std::lock_guard guard(lock_);
    return std::ranges::none_of(awaited, [&](const Epoch& at) { return Find(at) != nullptr; });
  };
  {
    std::lock_guard guard(lock_);
    for (Watched& watched : watched_) {
      if (!watched.met) awaited.push_back(watched.at);
      watched.met = true;
    }
  }
  const Patience patience;
  while (!are_over() && patience.Wait()) continue;
}

}  // namespace belay::race
