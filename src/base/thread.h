// Threads of the runtime: named, with signals blocked, so that a program's handlers run on its own
// threads; and the floating-point mode that tasks see.
#pragma once

#include <pthread.h>

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace belay {

// Starts a thread with the given name (15 characters at most); false when the system refuses. The thread
// has the default floating-point environment, whatever its creator has.
bool StartThread(pthread_t* thread, const char* name, void* (*main)(void*), void* argument) noexcept;

// Where the C++ library was loaded while the program ran (an interpreter's), its few words for exceptions
// come into being at a thread's first throw, and the process ends when there is no memory for them. Whoever
// calls this before has them; threads of StartThread do.
void MakeRoomForExceptions() noexcept;

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

// While in scope, a wait of the runtime acts on a pending pthread_cancel. Only waits that leave nothing
// half done are entered this way.
class MayBeCancelled {
 public:
  MayBeCancelled() { t_on_ = true; }
  ~MayBeCancelled() { t_on_ = false; }
  MayBeCancelled(const MayBeCancelled&) = delete;
  MayBeCancelled& operator=(const MayBeCancelled&) = delete;

  static void Check() {
    if (t_on_) pthread_testcancel();
  }

 private:
  inline static constinit thread_local bool t_on_ = false;
};

// Bytes of stack left below the caller; 0 where that is unknown, as on the stack of a coroutine.
uint64_t StackLeft();
// As much as a thread of the program must have left before it runs tasks.
inline constexpr uint64_t kTaskStack = 256 << 10;

}  // namespace belay
