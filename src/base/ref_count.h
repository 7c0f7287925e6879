// How many use an object that a handle stands for.
#pragma once

#include <atomic>
#include <cstdint>

namespace belay {

// Counts the users of an object in a persistent slot of a HandleTable: the last one closes it. Every call
// that has such an object as an argument is one, so that a call may be in the middle of an object that
// another thread destroys.
class RefCount {
 public:
  void Start() { count_.store(1, std::memory_order_release); }  // the handle's own
  void Add() { count_.fetch_add(1, std::memory_order_relaxed); }
  // False when the last user has gone.
  bool TryAdd() {
    uint32_t count = count_.load(std::memory_order_relaxed);
    while (count != 0) {
      if (count_.compare_exchange_weak(count, count + 1, std::memory_order_acquire)) return true;
    }
    return false;
  }
  // True for the last one.
  bool Drop() { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  std::atomic<uint32_t> count_{0};
};

}  // namespace belay
