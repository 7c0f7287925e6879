// The time of the system's clock, for a thread that asks for it at every event: from the processor's counter,
// which is read in half the time, and by the clock itself once in a millisecond.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace belay::trace {

// In nanoseconds, as the system's own events have it, so that they can be shown together.
uint64_t Now();

class ThreadClock {
 public:
  // Never goes back.
  uint64_t Now() {
    const uint64_t since = Ticks() - ticks_;
    return since < span_ ? ns_ + After(since) : LookUp();
  }

 private:
  static constexpr int kShift = 32;

  uint64_t After(uint64_t ticks) const { return ticks * rate_ >> kShift; }
  [[gnu::noinline]] uint64_t LookUp();

  uint64_t ticks_ = 0, ns_ = 0;  // of the clock when it was read last
  uint64_t span_ = 0;            // for how many ticks that holds; 0: the rate is not known yet, or never
  uint64_t rate_ = 0;            // nanoseconds a tick, times 2^kShift
};

}  // namespace belay::trace
