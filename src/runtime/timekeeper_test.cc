// How often what streams wait for is looked at. Nothing here measures time.
#include "runtime/timekeeper.h"

#include <atomic>
#include <memory>
#include <thread>

#include "runtime/poll.h"
#include "runtime/ring_support.h"
#include "runtime/thread_engine.h"

namespace belay::rt::rings {
namespace {

TEST(PollPause, IsShortAtFirstAndThenAnEighthOfTheWait) {
  EXPECT_EQ(Timekeeper::Pause(0), 20'000);
  EXPECT_EQ(Timekeeper::Pause(160'000), 20'000);
  EXPECT_EQ(Timekeeper::Pause(800'000), 100'000);
  EXPECT_EQ(Timekeeper::Pause(8'000'000), 1'000'000);
  EXPECT_EQ(Timekeeper::Pause(INT64_MAX), 1'000'000);
  int looks = 0;
  for (int64_t waited = 0; waited < 2'000'000'000; waited += Timekeeper::Pause(waited)) ++looks;
  EXPECT_LT(looks, 2100) << "in two seconds";
}

// Waits until `flag` is set, and counts the looks.
struct CountedWait {
  static constexpr const char* kName = "counted wait";
  static constexpr bool kTouchesNothing = true;
  static constexpr TaskClass kClass = TaskClass::kPoll;
  const std::atomic<uint64_t>* flag;
  std::atomic<int>* looks;
  const std::atomic<bool>* from_outside;

  bool Ready() const {
    ++*looks;
    return flag->load() != 0;
  }
  bool Proceed(Stream& stream) const {
    stream.TakeTimedOut();
    if (flag->load() != 0) return true;
    return !ParkUntil(stream, {[copy = *this] { return copy.Ready(); }, flag, from_outside}, 0);
  }
};

struct SetFlag {
  static constexpr const char* kName = "set flag";
  static constexpr bool kTouchesNothing = true;
  std::atomic<uint64_t>* flag;
  void Run() const {
    flag->store(1);
    TheEngine().Wrote(flag);
  }
};

class Polls : public WorkersTest {
 protected:
  Polls() : WorkersTest(2) {}
  static void Await(const std::atomic<int>& count, int least) {
    while (count < least) std::this_thread::yield();
  }
};

TEST_F(Polls, WhatOnlyThisProcessWritesIsLookedAtWhenItIsWritten) {
  std::atomic<uint64_t> own{0};
  std::atomic<uint64_t> foreign{0};
  std::atomic<int> own_looks{0};
  std::atomic<int> foreign_looks{0};
  std::atomic<bool> no{false};
  Stream& a = NewStream();
  Stream& b = NewStream();
  Stream& c = NewStream();
  a.Submit(MakeTask(CountedWait{&own, &own_looks, &no}));
  b.Submit(MakeTask(CountedWait{&foreign, &foreign_looks, nullptr}));
  Await(own_looks, 1);
  Await(foreign_looks, 40);
  EXPECT_EQ(own_looks, 1) << "when it had parked";
  c.Submit(MakeTask(SetFlag{&own}));
  Wait(a);
  EXPECT_EQ(own_looks, 2);
  foreign = 1;  // nobody says so
  Wait(b);
}

TEST_F(Polls, WhatOthersMayWriteMeanwhileIsLookedAtFromThenOn) {
  std::atomic<uint64_t> flag{0};
  std::atomic<int> looks{0};
  std::atomic<bool> from_outside{false};
  Stream& a = NewStream();
  a.Submit(MakeTask(CountedWait{&flag, &looks, &from_outside}));
  Await(looks, 1);
  from_outside = true;
  TheEngine().Wrote(nullptr);
  Await(looks, 10);
  flag = 1;
  Wait(a);
}

// The write may come before, while or after the stream parks: it never goes unseen.
TEST_F(Polls, NoWriteIsLost) {
  std::atomic<bool> no{false};
  std::atomic<int> looks{0};
  Stream& a = NewStream();
  Stream& b = NewStream();
  for (int i = 0; i < 2000; ++i) {
    std::atomic<uint64_t> flag{0};
    a.Submit(MakeTask(CountedWait{&flag, &looks, &no}));
    b.Submit(MakeTask(SetFlag{&flag}));
    Wait(a);
    Wait(b);
  }
}

// A wait that is dropped is not looked at any more.
TEST_F(Polls, ADroppedWaitIsForgotten) {
  std::atomic<bool> no{false};
  std::atomic<int> looks{0};
  auto flag = std::make_unique<std::atomic<uint64_t>>(0);
  Stream& a = NewStream();
  a.Submit(MakeTask(CountedWait{flag.get(), &looks, &no}));
  Await(looks, 1);
  Context::DestroyStream(a, true);
  int before = looks;
  TheEngine().Wrote(flag.get());
  EXPECT_EQ(looks, before);
}

// Drops the stream that its model is replayed on.
struct DropStream {
  static constexpr const char* kName = "drop stream";
  static constexpr bool kTouchesNothing = true;
  Stream* stream;
  void Run() const { stream->Drop(); }
};

class ReplayedPolls : public StepTest {};

TEST_F(ReplayedPolls, AReplayThatIsDroppedAsItParksIsForgotten) {
  uint64_t never = 0;
  Stream& captured = NewStream();
  Stream& stream = NewStream();
  Capture::Begin(captured, CaptureMode::kThreadLocal);
  captured.Submit(MakeTask(DropStream{&stream}));
  captured.Submit(MakeTask(PollTask{&never, 1, PollTest::kEqual}));
  ModelRI& model = Capture::End(captured);
  model.Execute(stream);
  TheEngine().WaitFor(stream, stream.tail(), -1);
  EXPECT_FALSE(TheEngine().ForgetPoll(stream)) << "nothing of the replay may be looked at: it is gone";
  ModelRI::Destroy(model);
}

}  // namespace
}  // namespace belay::rt::rings
