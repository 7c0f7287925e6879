#include "runtime/observer.h"

namespace belay::rt {

constinit std::atomic<Observer*> Observers::first_{nullptr};

void Observers::Add(Observer& observer) {
  observer.next_ = first_.load(std::memory_order_relaxed);
  first_.store(&observer, std::memory_order_release);
}

void TellHostLearned(const Stream& stream, uint64_t position) noexcept {
  Observers::Tell([&](Observer& o) { o.HostLearned(stream, position); });
}

}  // namespace belay::rt
