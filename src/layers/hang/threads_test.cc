#include "layers/hang/threads.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace belay::hang {
namespace {

std::string Sleep(int command, const char* limit) {
  return std::to_string(SYS_futex) + " 0x7f00 0x" + std::to_string(command) + " 0x0 " + limit +
         " 0x0 0x0 0x7ffd 0x7fee\n";
}

TEST(Threads, ASleepUntilSomebodyWakesHasNoLimit) {
  EXPECT_FALSE(ParseFutexSleep(Sleep(FUTEX_WAIT, "0x0"))->limited);
  EXPECT_FALSE(ParseFutexSleep(Sleep(80, "0x0"))->limited);  // FUTEX_WAIT_PRIVATE, as it is written
  EXPECT_FALSE(ParseFutexSleep(Sleep(FUTEX_WAIT_BITSET, "0x0"))->limited);
  EXPECT_TRUE(ParseFutexSleep(Sleep(FUTEX_WAIT, "0x7ffd10"))->limited);
  EXPECT_EQ(ParseFutexSleep(Sleep(FUTEX_WAIT, "0x0"))->word, 0x7f00u);
}

TEST(Threads, WhateverElseAThreadIsAtIsNoSuchSleep) {
  EXPECT_FALSE(ParseFutexSleep("running\n"));
  EXPECT_FALSE(ParseFutexSleep(""));
  EXPECT_FALSE(ParseFutexSleep("-1 0x7ffd 0x7fee\n"));
  EXPECT_FALSE(ParseFutexSleep("230 0x0 0x0 0x7fff 0x7ffe 0x0 0x0 0x7ffd 0x7fee\n"));
  EXPECT_FALSE(ParseFutexSleep(Sleep(FUTEX_WAKE, "0x0")));
}

TEST(Threads, OtherProcessesShareSomeMappings) {
  const SharedRanges ranges(
      "1000-2000 rw-p 00000000 00:00 0\n2000-3000 rw-s 00000000 00:05 7 /dev/shm/x\nnonsense\n4000-5000 r--s 0");
  EXPECT_FALSE(ranges.Has(0x1fff));
  EXPECT_TRUE(ranges.Has(0x2000));
  EXPECT_TRUE(ranges.Has(0x2fff));
  EXPECT_FALSE(ranges.Has(0x3000));
  EXPECT_TRUE(ranges.Has(0x4000));
}

TEST(Threads, AThreadThatMayStillActIsNamed) {
  std::atomic<bool> over = false;
  std::thread busy([&] {
    while (!over) std::this_thread::yield();
  });
  const Awake awake = LookForAwake([](int) { return false; });
  EXPECT_FALSE(awake.none());
  over = true;
  busy.join();
  const std::vector<int> ids = ThreadIds();
  EXPECT_NE(std::ranges::find(ids, static_cast<int>(getpid())), ids.end());
  EXPECT_FALSE(ThreadName(getpid()).empty());
}

TEST(Threads, MayEndWhileTheyAreLookedAt) {
  std::atomic<bool> over = false;
  std::thread mother([&] {
    while (!over) std::thread([] {}).join();
  });
  for (int looks = 0; looks < 300; ++looks) {
    LookForAwake([](int) { return false; });
    for (int id : ThreadIds()) ThreadName(id);
  }
  over = true;
  mother.join();
}

}  // namespace
}  // namespace belay::hang
