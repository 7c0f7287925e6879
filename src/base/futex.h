// Sleeping on a 32-bit word. A wait may end early; callers check their condition in a loop.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace belay {

// Sleeps while *word == expected, at most timeout_ns (negative: no limit).
inline void FutexWait(std::atomic<uint32_t>& word, uint32_t expected, int64_t timeout_ns) {
  timespec t{static_cast<time_t>(timeout_ns / 1'000'000'000), static_cast<long>(timeout_ns % 1'000'000'000)};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected,
          timeout_ns < 0 ? nullptr : &t, nullptr, 0);
}

inline void FutexWake(std::atomic<uint32_t>& word, int count = INT_MAX) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// The same on a word that other processes share.
inline void FutexWaitShared(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, expected, nullptr, nullptr, 0);
}

inline void FutexWakeShared(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace belay
