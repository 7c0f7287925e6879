// Moments in which nobody writes to device memory.
#include "runtime/device_writes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "runtime/ring_support.h"
#include "runtime/thread_engine.h"

namespace belay::rt::rings {
namespace {

class Writes : public testing::Test {
 protected:
  void SetUp() override {
    TheDevice();
    engine_ = std::make_unique<ThreadEngine>(ThreadEngineConfig{2, true});
    InstallThreadEngine(engine_.get());
  }
  void TearDown() override {
    engine_->Stop();
    InstallThreadEngine(nullptr);
  }
  std::unique_ptr<ThreadEngine> engine_;
};

TEST_F(Writes, NobodyIsInTheMiddleOfOne) {
  std::atomic<bool> end{false};
  std::atomic<int> writing{0}, written{0};
  auto write = [&] {
    while (!end) {
      DeviceWrites writes;
      DeviceWrites inside;
      ++writing;
      --writing;
      ++written;
    }
  };
  std::thread first(write), second(write);
  for (int i = 0; i < 200; ++i) {
    for (int before = written; written == before;) std::this_thread::yield();
    NoDeviceWrites none;
    EXPECT_EQ(writing, 0);
  }
  end = true;
  first.join();
  second.join();
}

// One that never ends gives way between its parts.
TEST_F(Writes, GiveWayBetweenTasks) {
  std::atomic<bool> begun{false}, end{false};
  std::thread writer([&] {
    DeviceWrites writes;
    begun = true;
    while (!end) DeviceWrites::GiveWay();
  });
  while (!begun) std::this_thread::yield();
  { NoDeviceWrites none; }
  end = true;
  writer.join();
}

// A task may wait for another that begins only now.
TEST_F(Writes, ThoseThatOthersWaitForBegin) {
  std::atomic<int> step{0};
  std::thread waits([&] {
    DeviceWrites writes;
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  std::thread other([&] {
    while (engine_->runs_at_once()) std::this_thread::yield();  // until writes are refused
    DeviceWrites writes;
    step = 2;
  });
  { NoDeviceWrites none; }
  EXPECT_EQ(step, 2);
  EXPECT_TRUE(engine_->runs_at_once());
  waits.join();
  other.join();
}

// Run by the thread that submits it, which holds its stream's lock meanwhile.
struct SmallWrite {
  static constexpr const char* kName = "small write";
  static constexpr bool kTouchesNothing = true;
  std::atomic<int>* step;

  void Run() const {
    *step = 1;
    while (TheEngine().runs_at_once()) std::this_thread::yield();
    DeviceWrites writes;
    *step = 2;
  }
};

TEST_F(Writes, ASmallTaskThatWritesByACallEnds) {
  Context& context = *Contexts().Find(CreateContext(TheDevice(), false));
  Stream& stream = context.CreateStream({});
  std::atomic<int> step{0};
  std::thread submits([&] { stream.Submit(MakeTask(SmallWrite{&step}, kAtOnce)); });
  while (step == 0) std::this_thread::yield();
  { NoDeviceWrites none; }
  EXPECT_EQ(step, 2);
  submits.join();
  DestroyContext(context, true);
}

}  // namespace
}  // namespace belay::rt::rings
