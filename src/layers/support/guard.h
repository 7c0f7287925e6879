// The way into a layer. What it throws ends the layer, with a word to the user, and not the program; and when
// the process dies inside, the command that has started it can say so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "layers/support/tally.h"

namespace belay::layers {

// Of the layer that this library is.
struct GuardState {
  std::atomic<bool> failed{false};
  Tally::Place* places = nullptr;
  uint64_t who = 0;  // in those places
};
[[gnu::visibility("hidden")]] extern GuardState g_guard;

// The layer begins in this process.
void NameLayer(const char* name);
// It has thrown: nothing leads into it any more.
inline bool LayerFailed() { return g_guard.failed.load(std::memory_order_relaxed); }
// By the exception that is being handled.
[[gnu::cold]] void FailLayer() noexcept;

// While there is one the thread is inside of the layer.
class Inside {
 public:
  Inside() : place_(PlaceOfThread()), before_(place_.load(std::memory_order_relaxed)) {
    place_.store(g_guard.who, std::memory_order_relaxed);
  }
  ~Inside() { place_.store(before_, std::memory_order_relaxed); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  // By where its stack is: a variable of the thread would take longer to find.
  static std::atomic<uint64_t>& PlaceOfThread() {
    const auto thread = reinterpret_cast<uintptr_t>(__builtin_thread_pointer());
    return g_guard.places[(thread >> 12) % Tally::kPlaces].who;
  }
  std::atomic<uint64_t>& place_;
  const uint64_t before_;
};

template <class Work>
[[gnu::always_inline]] inline void Guarded(Work work) noexcept {
  if (LayerFailed()) return;
  const Inside inside;
  try {
    work();
  } catch (...) {
    FailLayer();
  }
}

}  // namespace belay::layers
