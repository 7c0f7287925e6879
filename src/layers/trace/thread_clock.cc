#include "layers/trace/thread_clock.h"

#include <time.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace belay::trace {
namespace {

constexpr uint64_t kHolds = 1'000'000;  // for which a reading is good, so that no error of the rate adds up
constexpr uint64_t kLeastSpan = 10'000'000;  // over which the rate is measured

// Whether the system counts the same ticks: then they come at one rate, on all processors alike.
bool IsSystemClock() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return file >> name && (name == "tsc" || name == "arch_sys_counter");
}

// Both clocks at one moment.
struct Reading {
  uint64_t ticks = 0, ns = 0;
  bool fine = false;  // a thread that lost its processor in between knows nothing
};
Reading ReadBoth() {
  constexpr uint64_t kAtOnce = 4096;  // ticks
  constexpr int kTries = 4;
  Reading reading;
  for (int i = 0; i < kTries && !reading.fine; ++i) {
    reading.ticks = Ticks();
    reading.ns = Now();
    reading.fine = Ticks() - reading.ticks < kAtOnce;
  }
  return reading;
}

}  // namespace

uint64_t Now() {
  timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

uint64_t ThreadClock::LookUp() {
  static const bool same = IsSystemClock();
  static const Reading first = ReadBoth();
  const Reading now = ReadBoth();
  const uint64_t told = ns_ + After(std::min(now.ticks - ticks_, span_));  // at most
  ticks_ = now.ticks;
  ns_ = std::max(now.ns, told);
  span_ = 0;
  const uint64_t ns = now.ns - first.ns, ticks = now.ticks - first.ticks;
  if (!same || !first.fine || !now.fine || ns < kLeastSpan || ticks == 0) return ns_;
  const double rate = static_cast<double>(ns) / static_cast<double>(ticks) * 0x1p32;
  span_ = static_cast<uint64_t>(static_cast<double>(kHolds << kShift) / rate);
  // What was told may be ahead, and waits until the clock has come up.
  const uint64_t ahead = std::min(ns_ - now.ns, kHolds / 2);
  rate_ = static_cast<uint64_t>(rate * static_cast<double>(kHolds - ahead) / kHolds);
  return ns_;
}

}  // namespace belay::trace
