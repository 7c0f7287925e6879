// Threads of the runtime: named, with all signals blocked, so that a program's handlers run on its own
// threads; and the floating-point mode that tasks see.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace belay {

// Starts a thread with the given name (15 characters at most); false when the system refuses.
inline bool StartThread(pthread_t* thread, const char* name, void* (*main)(void*), void* argument) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  bool ok = pthread_create(thread, nullptr, main, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (ok) pthread_setname_np(*thread, name);
  return ok;
}

// The default floating-point environment (round to nearest, no flush to zero) while in scope.
class DefaultFloatMode {
 public:
  DefaultFloatMode() : saved_(Read()) {
    if (saved_ != kDefault) Write(kDefault);
  }
  ~DefaultFloatMode() {
    if (saved_ != kDefault) Write(saved_);
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
#if defined(__x86_64__)
  // The six status flags (bits 0-5) are not part of the mode.
  static constexpr uint64_t kDefault = 0x1f80;
  static uint64_t Read() { return _mm_getcsr() & ~0x3fu; }
  static void Write(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kDefault = 0;
  static uint64_t Read() {
    uint64_t v;
    asm volatile("mrs %0, fpcr" : "=r"(v));
    return v;
  }
  static void Write(uint64_t mode) { asm volatile("msr fpcr, %0" ::"r"(mode)); }
#else
  static constexpr uint64_t kDefault = 0;
  static uint64_t Read() { return 0; }
  static void Write(uint64_t) {}
#endif
  uint64_t saved_;
};

// Thread cancellation is disabled while in scope: a helping host must not vanish inside a task.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &saved_); }
  ~NoCancellation() { pthread_setcancelstate(saved_, nullptr); }

 private:
  int saved_;
};

// Bytes of stack left below the caller, as far as the system tells.
uint64_t StackLeft();

}  // namespace belay
