// Functions of the program that streams call (aclrtLaunchHostFunc, aclrtLaunchCallback): what they touch
// comes before what lies behind them on the stream, where that waits for them, and is ordered with nothing
// else that the host does not know to be over. Whether they meet it is a matter of time; so the first of each
// place stand still until the program learns that work is over, or for a moment, and the program stands still
// for them then.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "layers/race/clock.h"

namespace belay::race {

class Callbacks {
 public:
  bool any_watched() const { return any_.load(std::memory_order_acquire); }
  void Launched(const Epoch& at, uint32_t site);
  bool IsWatched(const Epoch& at) {
    std::lock_guard guard(lock_);
    return Find(at) != nullptr;
  }
  // By the thread that runs it.
  void Begin(const Epoch& at);
  void End(const Epoch& at);
  // The one that the calling thread runs.
  std::optional<Epoch> Here() const;
  // The calling thread is about to learn that work is over.
  void Meet();

 private:
  struct Watched {
    Epoch at;
    bool met;
  };
  struct Running {
    Epoch at;
    int thread;
  };
  Watched* Find(const Epoch& at);

  mutable std::mutex lock_;
  std::vector<Watched> watched_;  // that are not over
  std::vector<Running> running_;
  std::map<uint32_t, int> counts_;  // of callbacks, by the place that launches them
  std::atomic<bool> any_{false};
};

}  // namespace belay::race
