#include "runtime/observer.h"

#include "runtime/task.h"

namespace belay::rt {

constinit std::atomic<Observer*> Observers::first_{nullptr};
constinit std::atomic<bool> Observers::watch_runs_{false};
constinit std::atomic<bool> Observers::watch_waits_{false};
constinit std::atomic<bool> Observers::watch_bytes_{false};

void Observers::Add(Observer& observer) {
  observer.next_ = first_.load(std::memory_order_relaxed);
  first_.store(&observer, std::memory_order_release);
  if (observer.watches_runs()) watch_runs_.store(true, std::memory_order_release);
  if (observer.watches_waits()) watch_waits_.store(true, std::memory_order_release);
  if (observer.watches_bytes()) watch_bytes_.store(true, std::memory_order_release);
}

void TellHostLearned(const Stream& stream, uint64_t position) noexcept {
  Observers::Tell([&](Observer& o) { o.HostLearned(stream, position); });
}

void TellAllocated(Block block) noexcept {
  block.call = t_current_call;
  Observers::Tell([&](Observer& o) { o.Allocated(block); });
}

void TellFreed(Block block, FreedBy why) noexcept {
  block.call = t_current_call;
  Observers::Tell([&](Observer& o) { o.Freed(block, why); });
}

void TellCreated(uint64_t handle) noexcept {
  Observers::Tell([&](Observer& o) { o.Created(handle); });
}

void TellDestroyed(uint64_t handle) noexcept {
  Observers::Tell([&](Observer& o) { o.Destroyed(handle); });
}

void TellWrittenUnseen(const void* p) noexcept {
  Observers::Tell([&](Observer& o) { o.WrittenUnseen(p); });
}

void TellRemark(const char* id, std::string_view sentence) noexcept {
  Observers::Tell([&](Observer& o) { o.Remarked({t_current_call, id, sentence}); });
}

}  // namespace belay::rt
