// Time as the runtime needs it: cheap ticks for time stamps, nanoseconds for deadlines.
#pragma once

#include <time.h>

#include <cstdint>
#include <string>

namespace belay {

// Monotonic nanoseconds (CLOCK_MONOTONIC, about 26 ns a read).
inline int64_t NowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// A free-running counter (about 10 ns a read). TicksToNs measures spans, TickTimeNs gives points in time.
inline uint64_t Ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t v;
  asm volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
#else
  return static_cast<uint64_t>(NowNs());
#endif
}

// Nanoseconds that `ticks` span. The rate is measured against CLOCK_MONOTONIC from StartClock on.
double TicksToNs(uint64_t ticks);
// The point in time of a counter value, on NowNs's scale. Later ticks never give an earlier time: the
// rate is the one of the first use.
int64_t TickTimeNs(uint64_t ticks);
void StartClock();

// The local time as "2026-01-31-12:00:00.123.456". Unlike localtime_r it takes no lock, which a forked
// child could find held; the offset from UTC is asked for anew every few minutes.
std::string WallTime();

}  // namespace belay
