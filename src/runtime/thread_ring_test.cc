// Ring 4: the state machines with threads, to be run under ThreadSanitizer. Nothing here sleeps: a test
// ends when its work is done, and a watchdog (the test's time limit) notices when it is not.
#include <pthread.h>

#include <array>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/sanitizer.h"
#include "base/thread.h"
#include "runtime/host_call.h"
#include "runtime/poll.h"
#include "runtime/ring_support.h"
#include "runtime/settings.h"
#include "runtime/thread_engine.h"

namespace belay::rt::rings {
namespace {

#ifdef BELAY_TSAN
constexpr int kRounds = 300;
#else
constexpr int kRounds = 3000;
#endif

class ThreadRing : public WorkersTest {
 protected:
  ThreadRing() : WorkersTest(Config()) {}
  // The suite also runs with BELAY_WORKERS=1 and BELAY_HELP=0.
  static ThreadEngineConfig Config() {
    TheDevice();
    const Settings settings = ReadSettings();
    return {std::min(settings.workers, 4), settings.help};
  }
  static void Run(int threads, const std::function<void(int)>& body) {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) all.emplace_back(body, t);
    for (std::thread& thread : all) thread.join();
  }
};

// Counts without atomics: only the stream's order makes it right, and ThreadSanitizer knows.
struct AddTask {
  static constexpr const char* kName = "add";
  static constexpr bool kTouchesNothing = true;
  int64_t* counter;
  int64_t amount;
  void Run() const { *counter += amount; }
};
struct CopyCountTask {
  static constexpr const char* kName = "copy count";
  static constexpr bool kTouchesNothing = true;
  const int64_t* from;
  int64_t* to;
  void Run() const { *to = *from; }
};

// So small that the thread that submits it may run it.
constexpr TaskCost kSmall = 20;

TEST_F(ThreadRing, ManyThreadsSubmitToOneStream) {
  for (int of_a_hundred : {0, 50, 99, 100}) {  // that are small
    Stream& stream = NewStream();
    int64_t counter = 0;
    Run(4, [&](int) {
      for (int i = 0; i < kRounds; ++i) {
        stream.Submit(MakeTask(AddTask{&counter, 1}, i % 100 < of_a_hundred ? kSmall : kUnknownCost));
      }
      Wait(stream);
    });
    EXPECT_EQ(counter, 4 * kRounds);
  }
}

TEST_F(ThreadRing, AFullStreamHoldsItsSubmittersUp) {
  SetStreamDepth(4);
  Stream& stream = NewStream();
  int64_t counter = 0;
  Run(3, [&](int) {
    for (int i = 0; i < kRounds; ++i) {
      uint64_t position = stream.Submit(MakeTask(AddTask{&counter, 1}));
      EXPECT_LE(position, stream.completed() + 4 + 1);
    }
  });
  Wait(stream);
  EXPECT_EQ(counter, 3 * kRounds);
  SetStreamDepth(65536);
}

TEST_F(ThreadRing, RecordsAndWaitsOrderStreams) {
  constexpr int kPairs = 3;
  Run(kPairs, [&](int pair) {
    Stream& a = NewStream();
    Stream& b = NewStream();
    Event& there = NewEvent();
    Event& back = NewEvent();
    int64_t value = 0, seen = 0;
    for (int i = 1; i <= kRounds; ++i) {
      a.Submit(MakeTask(AddTask{&value, 1}, pair == 0 ? kSmall : kUnknownCost));
      there.Record(a);
      there.MakeWait(b, 0);
      b.Submit(MakeTask(CopyCountTask{&value, &seen}, pair != 2 || i % 7 == 0 ? kSmall : kUnknownCost));
      back.Record(b);
      back.MakeWait(a, 0);
    }
    Wait(b);
    EXPECT_EQ(seen, kRounds);
    Context::DestroyStream(b, false);
    Context::DestroyStream(a, false);
    DestroyEvent(there);
    DestroyEvent(back);
  });
}

// More of them than workers, each longer than a turn; no waiting host lends a hand.
TEST_F(ThreadRing, StreamsOfLongTasksTakeTurns) {
  constexpr int kStreams = 12, kTasks = 3;
  std::vector<Stream*> streams;
  std::array<int64_t, kStreams> counts{};
  Event& event = NewEvent();
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(&NewStream());
    event.MakeWait(*streams[i], 0);
    for (int k = 0; k < kTasks; ++k) streams[i]->Submit(MakeTask(AddTask{&counts[i], 1}, 10 * kLongTask));
  }
  Stream& first = NewStream();
  event.Record(first);
  for (Stream* stream : streams) {
    while (stream->completed() < stream->tail()) std::this_thread::yield();
  }
  for (int64_t count : counts) EXPECT_EQ(count, kTasks);
  DestroyEvent(event);
}

// The order of creation that hangs a runtime whose workers block in waits: all waits first.
TEST_F(ThreadRing, WaitingStreamsBlockNoWorker) {
  for (bool waits_first : {true, false}) {
    constexpr int kStreams = 40;
    std::vector<Stream*> streams;
    for (int i = 0; i < kStreams; ++i) streams.push_back(&NewStream());
    Event& event = NewEvent();
    int64_t value = 0;
    std::array<int64_t, kStreams> seen{};
    auto wait = [&](int i) {
      event.MakeWait(*streams[i], 0);
      streams[i]->Submit(MakeTask(CopyCountTask{&value, &seen[i]}));
    };
    auto record = [&] {
      streams[0]->Submit(MakeTask(AddTask{&value, 7}));
      event.Record(*streams[0]);
    };
    if (!waits_first) record();
    for (int i = kStreams - 1; i > 0; --i) wait(i);
    if (waits_first) record();
    for (int i = 1; i < kStreams; ++i) {
      Wait(*streams[i]);
      EXPECT_EQ(seen[i], 7);
    }
    for (Stream* stream : streams) Context::DestroyStream(*stream, false);
    DestroyEvent(event);
  }
}

TEST_F(ThreadRing, WorkStartsWithoutBeingWaitedFor) {
  for (int i = 0; i < kRounds / 10; ++i) {
    Stream& stream = NewStream();
    int64_t value = 0;
    uint64_t position = stream.Submit(MakeTask(AddTask{&value, 1}));
    while (!stream.Reached(position)) CpuRelax();  // the host only looks
    EXPECT_EQ(value, 1);
    Context::DestroyStream(stream, false);
  }
}

// --- small tasks, run by the thread that submits them

struct NoteThreadTask {
  static constexpr const char* kName = "note thread";
  static constexpr bool kTouchesNothing = true;
  std::atomic<pthread_t>* ran_on;
  void Run() const { ran_on->store(pthread_self()); }
};

// Which thread runs a task of this cost that the calling thread submits to an idle stream.
pthread_t RunnerOf(Stream& stream, TaskCost cost) {
  std::atomic<pthread_t> ran_on{};
  uint64_t position = stream.Submit(MakeTask(NoteThreadTask{&ran_on}, cost));
  while (!stream.Reached(position)) CpuRelax();  // and so does not help
  while (!stream.Idle() || stream.state() != StreamState::kIdle) CpuRelax();
  return ran_on.load();
}

TEST_F(ThreadRing, SmallTasksRunWhereTheyAreSubmitted) {
  Stream& stream = NewStream();
  EXPECT_EQ(RunnerOf(stream, kAtOnce) == pthread_self(), ReadSettings().help);
  EXPECT_NE(RunnerOf(stream, kAtOnce + 1), pthread_self());
  EXPECT_EQ(RunnerOf(stream, kSmall) == pthread_self(), ReadSettings().help);
}

TEST_F(ThreadRing, ThreadsWithLittleStackRunNothing) {
  Stream& stream = NewStream();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kTaskStack / 2), 0);
  auto body = [](void* stream) -> void* {
    EXPECT_NE(RunnerOf(*static_cast<Stream*>(stream), kSmall), pthread_self());
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, body, &stream), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST_F(ThreadRing, SmallTasksStayBehindWhatTheStreamHolds) {
  Stream& stream = NewStream();
  Stream& other = NewStream();
  Event& event = NewEvent();
  int64_t value = 1, seen = 0;
  event.MakeWait(stream, 0);
  stream.Submit(MakeTask(CopyCountTask{&value, &seen}, kSmall));
  EXPECT_FALSE(stream.Idle());
  other.Submit(MakeTask(AddTask{&value, 6}, kSmall));
  event.Record(other);
  Wait(stream);
  EXPECT_EQ(seen, 7);
  EXPECT_TRUE(event.AllWaitsPassed());
  event.MakeWait(stream, 0);  // the record has been reached: nothing to wait for
  Wait(stream);
  EXPECT_TRUE(event.AllWaitsPassed());
  DestroyEvent(event);
}

struct FailTask {
  static constexpr const char* kName = "fail";
  static constexpr bool kTouchesNothing = true;
  void Run() const { Fail(507899, "a-test", "it was to fail"); }
};

TEST_F(ThreadRing, AFailureOfASmallTaskIsKeptForWhoWaits) {
  Stream& stream = NewStream();
  stream.Submit(MakeTask(EmptyTask{}, kSmall));
  EXPECT_EQ(CodeOf([&] { stream.Submit(MakeTask(FailTask{}, kSmall)); }), 0);
  Wait(stream);
  std::optional<TaskFailure> failure = stream.TakeFailure();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, 507899);
  EXPECT_STREQ(failure->task.kind, "fail");
  EXPECT_EQ(failure->number, 2u);
  EXPECT_FALSE(stream.TakeFailure().has_value());
}

TEST_F(ThreadRing, ADroppedStreamRunsNoSmallTask) {
  Stream& stream = NewStream();
  int64_t counter = 0;
  stream.Drop();
  stream.Submit(MakeTask(AddTask{&counter, 1}, kSmall));
  Wait(stream);
  EXPECT_EQ(counter, 0);
  stream.StopDropping();
  stream.Submit(MakeTask(AddTask{&counter, 1}, kSmall));
  Wait(stream);
  EXPECT_EQ(counter, 1);
}

// Two tasks that can only end together.
struct MeetTask {
  static constexpr const char* kName = "meet";
  static constexpr bool kTouchesNothing = true;
  std::atomic<int>* here;
  void Run() const {
    here->fetch_add(1);
    while (here->load() < 2) CpuRelax();
  }
};
TEST_F(ThreadRing, TwoStreamsOverlap) {
  if (engine_->workers() < 2) GTEST_SKIP() << "one worker runs one task at a time";
  for (int i = 0; i < 20; ++i) {
    Stream& a = NewStream();
    Stream& b = NewStream();
    std::atomic<int> here{0};
    a.Submit(MakeTask(MeetTask{&here}, kLongTask));
    b.Submit(MakeTask(MeetTask{&here}, kLongTask));
    while (!a.Idle() || !b.Idle()) CpuRelax();
    Context::DestroyStream(a, false);
    Context::DestroyStream(b, false);
  }
}

void Count(void* counter) { ++*static_cast<int64_t*>(counter); }

TEST_F(ThreadRing, HostFunctionsAreOrderedWithTasks) {
  Run(3, [&](int) {
    Stream& stream = NewStream();
    int64_t counter = 0;
    for (int i = 0; i < kRounds / 10; ++i) {
      stream.Submit(MakeTask(AddTask{&counter, 1}));
      stream.Submit(MakeTask(HostCallTask(&Count, &counter)));
    }
    Wait(stream);
    EXPECT_EQ(counter, 2 * (kRounds / 10));
    Context::DestroyStream(stream, false);
  });
}

// --- captures and replays

// A fork and join over two streams with a host function on each branch if `calls`.
ModelRI& CaptureForkJoin(Context& context, int64_t* left, int64_t* right, int64_t* sum, bool calls,
                         TaskCost cost) {
  Stream& a = context.CreateStream({});
  Stream& b = context.CreateStream({});
  Event& fork = NewEvent();
  Event& join = NewEvent();
  Capture::Begin(a, CaptureMode::kThreadLocal);
  fork.Record(a);
  fork.MakeWait(b, 0);
  a.Submit(MakeTask(AddTask{left, 1}, cost));
  b.Submit(MakeTask(AddTask{right, 1}, cost));
  if (calls) {
    a.Submit(MakeTask(HostCallTask(&Count, left)));
    b.Submit(MakeTask(HostCallTask(&Count, right)));
  }
  join.Record(b);
  join.MakeWait(a, 0);
  a.Submit(MakeTask(CopyCountTask{left, sum}));
  a.Submit(MakeTask(AddTask{sum, 0}));
  a.Submit(MakeTask(CopyCountTask{right, sum + 1}));
  ModelRI& model = Capture::End(a);
  Context::DestroyStream(a, false);
  Context::DestroyStream(b, false);
  DestroyEvent(fork);
  DestroyEvent(join);
  return model;
}

TEST_F(ThreadRing, OneInstanceIsReplayedFromManyThreads) {
  for (auto [calls, cost] : {std::pair{false, 10u}, {false, 20'000u}, {true, 10u}}) {
    int64_t left = 0, right = 0, sum[2] = {};
    ModelRI& model = CaptureForkJoin(*context_, &left, &right, sum, calls, cost);
    int rounds = calls ? kRounds / 30 : kRounds / 3;
    Run(4, [&](int) {
      Stream& stream = NewStream();
      for (int i = 0; i < rounds; ++i) {
        model.Execute(stream);
        if (i % 16 == 0) Wait(stream);
      }
      Wait(stream);
      Context::DestroyStream(stream, false);
    });
    int64_t wanted = 4 * rounds * (calls ? 2 : 1);
    EXPECT_EQ(left, wanted);
    EXPECT_EQ(right, wanted);
    EXPECT_EQ(sum[0], wanted);
    EXPECT_EQ(sum[1], wanted);
    ModelRI::Destroy(model);
  }
}

TEST_F(ThreadRing, AnInstanceMayBeDestroyedWhileItIsQueued) {
  for (int i = 0; i < kRounds / 10; ++i) {
    int64_t left = 0, right = 0, sum[2] = {};
    ModelRI& model = CaptureForkJoin(*context_, &left, &right, sum, i % 4 == 0, 10);
    Stream& a = NewStream();
    Stream& b = NewStream();
    model.Execute(a);
    model.Execute(b);
    ModelRI::Destroy(model);
    Wait(a);
    Wait(b);
    EXPECT_EQ(left, i % 4 == 0 ? 4 : 2);
    Context::DestroyStream(a, false);
    Context::DestroyStream(b, false);
  }
}

// Streams that are dropped at any moment lose tasks, but never their order, and never hang.
TEST_F(ThreadRing, StreamsAreDroppedWhileTheyWork) {
  int64_t left = 0, right = 0, sum[2] = {};
  ModelRI& model = CaptureForkJoin(*context_, &left, &right, sum, true, 10);
  Run(3, [&](int t) {
    for (int i = 0; i < kRounds / 30; ++i) {
      Stream& a = NewStream();
      Stream& b = NewStream();
      Event& event = NewEvent();
      int64_t value = 0;
      if (t == 0) event.MakeWait(b, 1'000'000'000);
      a.Submit(MakeTask(AddTask{&value, 1}));
      event.Record(a);
      event.MakeWait(b, i % 2 == 0 ? 0 : 1'000'000'000);
      model.Execute(b);
      b.Submit(MakeTask(HostCallTask(&Count, &value)));
      model.Execute(a);
      if (i % 3 == 0) DestroyEvent(event);
      Context::DestroyStream(b, i % 2 == 0);
      Context::DestroyStream(a, i % 4 < 2);
      if (i % 3 != 0) DestroyEvent(event);
    }
  });
  Stream& last = NewStream();
  int64_t before = left;
  model.Execute(last);  // the instance is whole after all that
  Wait(last);
  EXPECT_EQ(left, before + 2);
  ModelRI::Destroy(model);
}

TEST_F(ThreadRing, AWaitThatNobodyFulfilsEndsWithItsStream) {
  for (int i = 0; i < kRounds / 10; ++i) {
    Stream& waiting = NewStream();
    Event& event = NewEvent();
    event.MakeWait(waiting, 0);
    waiting.Submit(MakeTask(EmptyTask{}));
    if (i % 2 == 0) Context::DestroyStream(waiting, true);
    DestroyEvent(event);
    if (i % 2 != 0) Context::DestroyStream(waiting, false);
  }
}

TEST_F(ThreadRing, AWaitWithALimitFails) {
  Stream& waiting = NewStream();
  Event& event = NewEvent();
  event.MakeWait(waiting, 1'000'000);
  waiting.Submit(MakeTask(EmptyTask{}));
  Wait(waiting);
  std::optional<TaskFailure> failure = waiting.TakeFailure();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, 107020);
  EXPECT_TRUE(event.AllWaitsPassed());
  DestroyEvent(event);
}

struct StoreTask {
  static constexpr const char* kName = "store";
  static constexpr bool kTouchesNothing = true;
  uint64_t* to;
  uint64_t value;
  void Run() const { __atomic_store_n(to, value, __ATOMIC_RELEASE); }
};

TEST_F(ThreadRing, PolledValuesLetStreamsGoOn) {
  Run(2, [&](int) {
    Stream& a = NewStream();
    Stream& b = NewStream();
    auto value = std::make_unique<uint64_t>(0);
    for (uint64_t i = 1; i <= kRounds / 30; ++i) {
      b.Submit(MakeTask(PollTask{value.get(), i, PollTest::kEqual}));
      a.Submit(MakeTask(StoreTask{value.get(), i}));
      Wait(b);
    }
    b.Submit(MakeTask(PollTask{value.get(), 1u << 30, PollTest::kEqual}));
    Context::DestroyStream(b, true);
    value.reset();  // nobody looks at it any more
    Context::DestroyStream(a, false);
  });
}

// One thread ends the capture while others submit to its streams: each task is in the graph or live.
TEST_F(ThreadRing, CapturesEndWhileOthersSubmit) {
  for (int i = 0; i < kRounds / 10; ++i) {
    Stream& stream = NewStream();
    Event& event = NewEvent();
    int64_t counter = 0;
    std::atomic<int> live{0};
    std::thread other([&] {
      for (int n = 0; n < 20; ++n) {
        CodeOf([&] {
          if (stream.Submit(MakeTask(AddTask{&counter, 1})) != 0) live.fetch_add(1);
        });
        if (n % 5 == 0) CodeOf([&] { event.Record(stream); });
        if (n % 5 == 1) CodeOf([&] { event.MakeWait(stream, 0); });
        CodeOf([&] { CheckNotCaptured(stream, "this test"); });
      }
    });
    ModelRI* model = nullptr;
    Capture::Begin(stream, CaptureMode::kRelaxed);
    CodeOf([&] { stream.Submit(MakeTask(AddTask{&counter, 0})); });
    CodeOf([&] { model = &Capture::End(stream); });
    other.join();
    Wait(stream);
    EXPECT_EQ(counter, live.load());
    if (model != nullptr) ModelRI::Destroy(*model);
    Context::DestroyStream(stream, false);
    DestroyEvent(event);
  }
}

TEST_F(ThreadRing, OneOfManyBeginsAndEndsACapture) {
  for (int i = 0; i < kRounds / 30; ++i) {
    Stream& stream = NewStream();
    std::atomic<int> begun{0}, ended{0};
    Run(3, [&](int) {
      if (CodeOf([&] { Capture::Begin(stream, CaptureMode::kRelaxed); }) == 0) begun.fetch_add(1);
      CodeOf([&] { CheckCaptureAllows("this test"); });
      if (CodeOf([&] { ModelRI::Destroy(Capture::End(stream)); }) == 0) ended.fetch_add(1);
    });
    EXPECT_GE(begun.load(), 1);
    EXPECT_LE(ended.load(), begun.load());
    Context::DestroyStream(stream, true);
  }
}

TEST_F(ThreadRing, AStreamThatIsDestroyedLeavesItsCapture) {
  for (int i = 0; i < kRounds / 30; ++i) {
    Stream& main = NewStream();
    Stream& joined = NewStream();
    Event& event = NewEvent();
    int64_t counter = 0;
    Capture::Begin(main, CaptureMode::kRelaxed);
    event.Record(main);
    event.MakeWait(joined, 0);
    std::thread other([&] { Context::DestroyStream(i % 2 == 0 ? main : joined, false); });
    CodeOf([&] { (i % 2 == 0 ? joined : main).Submit(MakeTask(AddTask{&counter, 1})); });
    other.join();
    if (i % 2 != 0) {
      EXPECT_EQ(CodeOf([&] { Capture::End(main); }), 107033);
    }
    Context::DestroyStream(i % 2 == 0 ? joined : main, false);
    DestroyEvent(event);
  }
}

TEST_F(ThreadRing, ContextsGoWhileADeviceIsSynchronised) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    Stream* late;
    while (!stop.load()) TheDevice().Synchronize(-1, &late);
  });
  for (int i = 0; i < kRounds / 10; ++i) {
    Context& context = *Contexts().Find(CreateContext(TheDevice(), false));
    Stream& stream = context.CreateStream({});
    int64_t value = 0;
    stream.Submit(MakeTask(AddTask{&value, 1}));
    DestroyContext(context, i % 2 == 0);
    if (i % 2 != 0) {
      EXPECT_EQ(value, 1) << "a context that is not forced ends after its tasks";
    }
  }
  stop.store(true);
  other.join();
}

TEST_F(ThreadRing, AnEngineStopsWhileItIsFed) {
  Stream& stream = NewStream();
  int64_t value = 0;
  std::atomic<bool> fed{false};
  std::thread feeder([&] {
    for (int i = 0; i < kRounds; ++i) {
      stream.Submit(MakeTask(AddTask{&value, 1}));
      fed.store(true);
    }
  });
  while (!fed.load()) CpuRelax();
  engine_->Stop();
  feeder.join();
  Wait(stream);  // after the stop a waiting host runs what is left
  EXPECT_EQ(value, kRounds);
}

// A worker, or the timekeeper, that is just about to sleep when it is told to stop.
TEST_F(ThreadRing, AnEngineStopsAtAnyMomentAfterItsStart) {
  Stream& stream = NewStream();
  for (int i = 0; i < kRounds; ++i) {
    engine_->Stop();
    engine_->Restart({1, true});
    if (i % 2 == 0) engine_->WatchDeadline(stream, stream.park_serial() + 1, NowNs() - 1);
    for (int64_t end = NowNs() + i % 64 * 1000; NowNs() < end;) CpuRelax();
  }
}

}  // namespace
}  // namespace belay::rt::rings
