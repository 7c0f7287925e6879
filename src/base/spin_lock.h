// A lock for sections of a few dozen instructions. Unlocking is a plain store, so an uncontended pair
// costs one atomic instruction (std::mutex: two). A waiter that spins in vain gives up its core, since
// the holder may have been preempted.
#pragma once

#include <sched.h>
#include <time.h>

#include <atomic>

namespace belay {

inline void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class SpinLock {
 public:
  constexpr SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() noexcept {
    if (!held_.exchange(true, std::memory_order_acquire)) [[likely]]
      return;
    LockContended();
  }
  bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
  // For exit(), which may have interrupted the holder: false where it was not to be had for a tenth of a
  // second.
  [[gnu::cold]] bool TryLockAWhile() noexcept {
    constexpr int kTries = 100;
    constexpr timespec kPause{0, 1'000'000};
    for (int i = 0; i < kTries; ++i) {
      if (try_lock()) return true;
      nanosleep(&kPause, nullptr);
    }
    return false;
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void LockContended() noexcept {
    for (int spins = 0;; ++spins) {
      while (held_.load(std::memory_order_relaxed)) {
        if (++spins < 200) {
          CpuRelax();
        } else {
          sched_yield();
        }
      }
      if (!held_.exchange(true, std::memory_order_acquire)) return;
    }
  }

  std::atomic<bool> held_{false};
};

}  // namespace belay
