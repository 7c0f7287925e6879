#include "runtime/callback_pool.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

namespace belay::rt {
namespace {

// Threads of the process with this name.
int Threads(const std::string& name) {
  int count = 0;
  DIR* folder = opendir("/proc/self/task");
  while (dirent* entry = readdir(folder)) {
    std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/comm");
    std::string found;
    count += std::getline(file, found) && found == name;
  }
  closedir(folder);
  return count;
}

// Callbacks that all stand inside their function until they are let go.
class Burst {
 public:
  explicit Burst(int count) : count_(count) {
    for (int i = 0; i < count; ++i) RunOnCallbackThread(&Burst::Run, this, &Burst::Done, this);
    while (entered_ < count) std::this_thread::yield();
  }
  void End() {
    open_ = true;
    while (done_ < count_) std::this_thread::yield();
  }

 private:
  static void Run(void* self) {
    auto* burst = static_cast<Burst*>(self);
    ++burst->entered_;
    while (!burst->open_) std::this_thread::yield();
  }
  static void Done(void* self) { ++static_cast<Burst*>(self)->done_; }
  const int count_;
  std::atomic<int> entered_{0};
  std::atomic<bool> open_{false};
  std::atomic<int> done_{0};
};

constexpr char kName[] = "belay-call";

// A thread is seen for a moment after it was joined.
void AwaitThreads(int count) {
  while (Threads(kName) != count) std::this_thread::yield();
}

TEST(CallbackPool, EndsItsThreads) {
  for (int round = 0; round < 3; ++round) {
    Burst burst(50);
    EXPECT_EQ(Threads(kName), 50);
    burst.End();
    EndCallbackThreads();
    AwaitThreads(0);
  }
}

TEST(CallbackPool, ThreadsThatNobodyNeedsEndButForOne) {
  SetCallbackIdleTime(1000);
  Burst burst(20);
  burst.End();
  AwaitThreads(1);
  Burst(1).End();  // there is still one that takes work
  SetCallbackIdleTime(10'000'000'000);
  EXPECT_EQ(Threads(kName), 1);
  EndCallbackThreads();
  AwaitThreads(0);
}

TEST(CallbackPool, FunctionsThatEndTheirThread) {
  static std::atomic<int> done{0};
  done = 0;
  for (int i = 0; i < 20; ++i) {
    RunOnCallbackThread([](void*) { pthread_exit(nullptr); }, nullptr, [](void*) { ++done; }, nullptr);
  }
  while (done < 20) std::this_thread::yield();
  EndCallbackThreads();
  AwaitThreads(0);
}

TEST(CallbackPool, ACancelledThreadTakesNothingElseWithIt) {
  static std::atomic<int> done{0};
  done = 0;
  for (int i = 0; i < 20; ++i) {
    RunOnCallbackThread([](void*) { pthread_cancel(pthread_self()); }, nullptr, [](void*) { ++done; },
                        nullptr);
    while (done <= i) std::this_thread::yield();
  }
  Burst(3).End();
  EndCallbackThreads();
  AwaitThreads(0);
}

}  // namespace
}  // namespace belay::rt
