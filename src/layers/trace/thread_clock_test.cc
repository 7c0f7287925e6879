#include "layers/trace/thread_clock.h"

#include <gtest/gtest.h>

#include <time.h>

#include <cstdint>
#include <thread>

namespace belay::trace {
namespace {

// As near as two clocks can be read together, and the rate measured.
TEST(ThreadClock, IsTheSystemsClock) {
  constexpr uint64_t kWithin = 5'000;
  const uint64_t begin = Now();
  ThreadClock clock;
  uint64_t last = 0;
  while (last < begin + 50'000'000) {
    const uint64_t before = Now();
    const uint64_t told = clock.Now();
    const uint64_t after = Now();
    ASSERT_GE(told, last);
    ASSERT_GE(told + kWithin, before);
    ASSERT_LE(told, after + kWithin);
    last = told;
  }
}

// A thread that slept looks at the clock again.
TEST(ThreadClock, SleepsCount) {
  ThreadClock clock;
  const uint64_t before = clock.Now();
  timespec rest{0, 20'000'000};
  nanosleep(&rest, nullptr);
  EXPECT_GE(clock.Now(), before + 20'000'000);
  std::thread([&, begun = clock.Now()] { EXPECT_GE(ThreadClock().Now(), begun); }).join();
}

}  // namespace
}  // namespace belay::trace
