// What observers are told, and when.
#include "runtime/observer.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "runtime/explain_wait.h"
#include "runtime/memory_registered.h"
#include "runtime/memory_state.h"
#include "runtime/memory_virtual.h"
#include "runtime/ring_support.h"
#include "runtime/task_failure.h"
#include "runtime/task_graph.h"

namespace belay::rt::rings {
namespace {

struct Named {
  static constexpr const char* kName = "named";
  static constexpr bool kTouchesNothing = true;
  std::vector<std::string>* story;
  void Run() const { story->push_back("runs"); }
};

// Writes down what it is told, with positions counted from where the streams began.
class Teller final : public Observer {
 public:
  explicit Teller(std::vector<std::string>* story) : story_(story) {}
  void Watch(const Stream& stream) { streams_.emplace_back(&stream, stream.tail()); }

  void Submitted(const Stream& stream, uint64_t position, const Task& task) noexcept override {
    Say(stream, position, std::string("takes ") + task.type->name);
  }
  void HostLearned(const Stream& stream, uint64_t position) noexcept override {
    Say(stream, position, "is known to have reached");
  }
  void Captured(const Stream& stream, uint32_t, uint32_t node, const Task& task) noexcept override {
    Say(stream, stream.tail(), "captures " + std::to_string(node) + " " + task.type->name);
  }
  void Finished(uint32_t, const TaskGraph& graph) noexcept override {
    story_->push_back("a graph of " + std::to_string(graph.order().size()));
  }

 private:
  void Say(const Stream& stream, uint64_t position, const std::string& what) {
    for (size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i].first != &stream) continue;
      story_->push_back(std::to_string(i) + " " + what + " at " +
                        std::to_string(position - streams_[i].second));
    }
  }
  std::vector<std::string>* story_;
  std::vector<std::pair<const Stream*, uint64_t>> streams_;
};

class Observed : public StepTest {
 protected:
  void SetUp() override {
    Observers::Add(teller_);
    StepTest::SetUp();
    for (Stream** stream : {&a_, &b_}) {
      *stream = &NewStream();
      teller_.Watch(**stream);
    }
  }
  void TearDown() override {
    StepTest::TearDown();
    Observers::AbandonInChild();
  }
  using Story = std::vector<std::string>;
  Story story_;
  Teller teller_{&story_};
  Stream *a_ = nullptr, *b_ = nullptr;
};

TEST_F(Observed, SubmissionsAreToldBeforeTheyRun) {
  a_->Submit(MakeTask(Named{&story_}));
  b_->Submit(MakeTask(Named{&story_}));
  a_->Submit(MakeTask(Named{&story_}));
  EXPECT_TRUE(TheEngine().WaitFor(*a_, a_->tail(), -1));
  EXPECT_EQ(story_, (Story{"0 takes named at 1", "1 takes named at 1", "0 takes named at 2", "runs", "runs",
                           "runs", "0 is known to have reached at 2"}));
}

TEST_F(Observed, WhoAsksTooEarlyLearnsNothing) {
  a_->Submit(MakeTask(Named{&story_}));
  EXPECT_FALSE(a_->HostSees(a_->tail()));
  engine_.RunAll();
  EXPECT_TRUE(a_->HostSees(a_->tail()));
  EXPECT_EQ(story_, (Story{"0 takes named at 1", "runs", "0 is known to have reached at 1"}));
}

TEST_F(Observed, WaitsSayForWhat) {
  Event& event = NewEvent();
  event.Record(*a_);
  event.MakeWait(*b_, 0);
  DestroyEvent(event);
  EXPECT_EQ(story_, (Story{"0 takes event record at 1", "1 takes event wait at 1"}));
}

TEST_F(Observed, CapturesTellTheirNodes) {
  Capture::Begin(*a_, CaptureMode::kThreadLocal);
  a_->Submit(MakeTask(Named{&story_}));
  a_->Submit(MakeTask(Named{&story_}));
  ModelRI& model = Capture::End(*a_);
  model.Execute(*b_);
  engine_.RunAll();
  ModelRI::Destroy(model);
  EXPECT_EQ(story_, (Story{"0 captures 0 named at 0", "0 captures 1 named at 0", "a graph of 2",
                           "1 takes model launch at 1", "runs", "runs"}));
}

// Tells when things happen, too.
class Watcher final : public Observer {
 public:
  explicit Watcher(std::vector<std::string>* story) : story_(story) {}
  bool watches_runs() const override { return true; }
  void Submitted(const Stream& stream, uint64_t position, const Task&) noexcept override {
    Say("takes", stream, position);
  }
  void Queued(const Stream& stream, uint64_t position) noexcept override { Say("has", stream, position); }
  void Started(const Stream& stream, uint64_t position, const Task&) noexcept override {
    Say("begins", stream, position);
    EXPECT_FALSE(stream.Reached(position));
  }
  void Ended(const Stream& stream, uint64_t position, const Task&,
             const TaskFailure* failure) noexcept override {
    Say(failure == nullptr ? "ends" : "fails with " + std::to_string(failure->code), stream, position);
    EXPECT_FALSE(stream.Reached(position));
  }
  void NodeStarted(const Stream&, uint32_t lane, uint32_t, uint32_t node, const Task&) noexcept override {
    EXPECT_EQ(lane, kNoLane);
    story_->push_back("node " + std::to_string(node) + " begins");
  }
  void NodeEnded(const Stream&, uint32_t, uint32_t, uint32_t node, const Task&,
                 const TaskFailure* failure) noexcept override {
    story_->push_back("node " + std::to_string(node) + (failure == nullptr ? " ends" : " fails"));
  }
  void HostWaits(const Stream&, uint64_t, int64_t) noexcept override { story_->push_back("host waits"); }
  void HostGoesOn(const Stream&, uint64_t) noexcept override { story_->push_back("host goes on"); }
  void Watch(const Stream& stream) { streams_.emplace_back(&stream, stream.tail()); }

 private:
  void Say(const std::string& what, const Stream& stream, uint64_t position) {
    for (size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i].first != &stream) continue;
      story_->push_back(std::to_string(i) + " " + what + " " + std::to_string(position - streams_[i].second));
    }
  }
  std::vector<std::string>* story_;
  std::vector<std::pair<const Stream*, uint64_t>> streams_;
};

struct Fails {
  static constexpr const char* kName = "fails";
  static constexpr bool kTouchesNothing = true;
  void Run() const { throw Error(507015, "test", "it fails"); }
};

class Watched : public StepTest {
 protected:
  void SetUp() override {
    Observers::Add(watcher_);
    StepTest::SetUp();
    for (Stream** stream : {&a_, &b_}) {
      *stream = &NewStream();
      watcher_.Watch(**stream);
    }
  }
  void TearDown() override {
    StepTest::TearDown();
    Observers::AbandonInChild();
  }
  using Story = std::vector<std::string>;
  Story story_;
  Watcher watcher_{&story_};
  Stream *a_ = nullptr, *b_ = nullptr;
};

TEST_F(Watched, TasksBeginAndEndOnceAlsoWhenTheyFail) {
  a_->Submit(MakeTask(Named{&story_}));
  a_->Submit(MakeTask(Fails{}));
  EXPECT_TRUE(TheEngine().WaitFor(*a_, a_->tail(), -1));
  EXPECT_EQ(story_, (Story{"0 takes 1", "0 has 1", "0 takes 2", "0 has 2", "host waits", "0 begins 1", "runs",
                           "0 ends 1", "0 begins 2", "0 fails with 507015 2", "host goes on"}));
  a_->TakeFailure();
}

TEST_F(Watched, AWaitThatParksItsStreamBeginsOnceAndEndsWhenItIsOver) {
  Event& event = NewEvent();
  a_->Submit(MakeTask(Named{&story_}));
  event.Record(*a_);
  event.MakeWait(*b_, 0);
  story_.clear();
  const std::vector<Stream*>& ready = engine_.ready();
  engine_.Step(static_cast<size_t>(std::find(ready.begin(), ready.end(), b_) - ready.begin()));
  EXPECT_EQ(story_, (Story{"1 begins 1"}));
  engine_.RunAll();
  EXPECT_EQ(story_,
            (Story{"1 begins 1", "0 begins 1", "runs", "0 ends 1", "0 begins 2", "0 ends 2", "1 ends 1"}));
  DestroyEvent(event);
}

TEST_F(Watched, WhatIsDroppedBeforeItBeginsIsNotToldOf) {
  a_->Submit(MakeTask(Named{&story_}));
  story_.clear();
  a_->Drop();
  engine_.RunAll();
  a_->StopDropping();
  EXPECT_EQ(story_, Story{});
}

TEST_F(Watched, NodesAreWithinTheirLaunchAndTheFirstThatFailsEndsIt) {
  Capture::Begin(*a_, CaptureMode::kThreadLocal);
  a_->Submit(MakeTask(Named{&story_}));
  a_->Submit(MakeTask(Fails{}));
  a_->Submit(MakeTask(Named{&story_}));
  ModelRI& model = Capture::End(*a_);
  model.Execute(*b_);
  engine_.RunAll();
  ModelRI::Destroy(model);
  EXPECT_EQ(story_, (Story{"1 takes 1", "1 has 1", "1 begins 1", "node 0 begins", "runs", "node 0 ends",
                           "node 1 begins", "node 1 fails", "1 fails with 507015 1"}));
  b_->TakeFailure();
}

// A small task on an idle stream is told of although the thread that submits it runs it.
class ObservedWorkers : public WorkersTest {
 protected:
  ObservedWorkers() : WorkersTest(ThreadEngineConfig{1, true}) {}
};

TEST_F(ObservedWorkers, SmallTasksAreToldToo) {
  std::vector<std::string> story;
  Teller teller(&story);
  Observers::Add(teller);
  Stream& stream = NewStream();
  teller.Watch(stream);
  stream.Submit(MakeTask(Named{&story}, 10));
  Wait(stream);
  Observers::AbandonInChild();
  EXPECT_EQ(story,
            (std::vector<std::string>{"0 takes named at 1", "runs", "0 is known to have reached at 1"}));
}

// Blocks by what is left to tell of them.
class Ledger final : public Observer {
 public:
  void Allocated(const Block& block) noexcept override { story.push_back("+" + Text(block)); }
  void Freed(const Block& block, FreedBy why) noexcept override {
    EXPECT_EQ(BlockSerial(reinterpret_cast<const void*>(block.base)), 0u) << "it is gone when this is told";
    story.push_back((why == FreedBy::kCall ? "-" : "end ") + Text(block));
  }
  void EndedDevice(int device) noexcept override { story.push_back("device " + std::to_string(device)); }

  std::vector<std::string> story;

 private:
  std::string Text(const Block& block) {
    static constexpr const char* kNames[] = {"device", "pinned", "mapped", "imported", "registered"};
    if (block.serial != 0 && serials_.try_emplace(block.serial, serials_.size()).second) {
      EXPECT_EQ(block.serial, BlockSerial(reinterpret_cast<const void*>(block.base)));
    }
    const std::string number = block.serial == 0 ? "" : " " + std::to_string(serials_[block.serial]);
    return std::string(kNames[static_cast<int>(block.kind)]) + " " + std::to_string(block.bytes) + number;
  }
  std::map<uint64_t, size_t> serials_;
};

TEST(ObservedMemory, BlocksAreToldFromTheirBeginToTheirEnd) {
  StartMemory({.devices = 1, .bytes_per_device = size_t{128} << 20, .alias_offset = 0});
  Ledger ledger;
  Observers::Add(ledger);
  void* a = AllocateDevice(0, {.bytes = 100});
  void* pinned = AllocatePinned(200);
  FreeDevice(a);
  EXPECT_THROW(FreeDevice(a), Error);
  EXPECT_EQ(AllocateDevice(0, {.bytes = 100}), a);
  FreePinned(pinned);

  VirtualMemory& memory = *Memory().virtual_memory;
  const size_t bytes = kPhysicalGranularity;
  void* range = memory.Reserve(bytes, nullptr);
  PhysicalMemory& physical = *PhysicalMemories().Find(memory.CreatePhysical(0, bytes));
  memory.Map(range, bytes, 0, physical);
  memory.Unmap(range);
  memory.FreePhysical(physical);
  memory.Release(range);

  alignas(4096) static char host[4096];
  RegisterHost(host, sizeof host, 0);
  UnregisterHost(host);
  ReleaseDeviceMemory(0);
  Observers::AbandonInChild();
  const std::string megabytes = std::to_string(bytes);
  EXPECT_EQ(ledger.story, (std::vector<std::string>{
                              "+device 100 0", "+pinned 200 1", "-device 100 0", "+device 100 2",
                              "-pinned 200 1", "+mapped " + megabytes + " 3", "-mapped " + megabytes + " 3",
                              "+registered 4096", "-registered 4096", "end device 100 2", "device 0"}));
}

TEST_F(ObservedWorkers, SmallTasksBeginAndEndWhereTheyAreSubmitted) {
  std::vector<std::string> story;
  Watcher watcher(&story);
  Observers::Add(watcher);
  Stream& stream = NewStream();
  watcher.Watch(stream);
  stream.Submit(MakeTask(Named{&story}, 10));
  Observers::AbandonInChild();
  EXPECT_EQ(story, (std::vector<std::string>{"0 takes 1", "0 begins 1", "runs", "0 ends 1", "0 has 1"}));
}

// Several branches, which workers share.
class Lanes final : public Observer {
 public:
  bool watches_runs() const override { return true; }
  void NodeStarted(const Stream&, uint32_t lane, uint32_t, uint32_t node, const Task&) noexcept override {
    std::lock_guard guard(lock);
    EXPECT_TRUE(running.emplace(lane, node).second);
    ++begun[node];
  }
  void NodeEnded(const Stream&, uint32_t lane, uint32_t, uint32_t node, const Task&,
                 const TaskFailure* failure) noexcept override {
    std::lock_guard guard(lock);
    EXPECT_EQ(failure, nullptr);
    EXPECT_EQ(running[lane], node);
    running.erase(lane);
  }
  std::mutex lock;
  std::map<uint32_t, uint32_t> running;  // of each lane
  std::map<uint32_t, int> begun;
};

class ManyWorkers : public WorkersTest {
 protected:
  ManyWorkers() : WorkersTest(3) {}
};

TEST_F(ManyWorkers, TellOfEachNodeOfALaneOnce) {
  Lanes lanes;
  Observers::Add(lanes);
  Stream& main = NewStream();
  Stream& side = NewStream();
  Event &fork = NewEvent(), &join = NewEvent();
  Capture::Begin(main, CaptureMode::kThreadLocal);
  fork.Record(main);
  fork.MakeWait(side, 0);
  for (int i = 0; i < 3; ++i) {
    main.Submit(MakeTask(EmptyTask{}, kLongTask));
    side.Submit(MakeTask(EmptyTask{}, kLongTask));
  }
  join.Record(side);
  join.MakeWait(main, 0);
  ModelRI& model = Capture::End(main);
  const bool has_lanes = model.graph().way() == TaskGraph::Way::kLanes;
  constexpr int kReplays = 20;
  for (int i = 0; i < kReplays; ++i) model.Execute(main);
  Wait(main);
  ModelRI::Destroy(model);
  for (Event* event : {&fork, &join}) DestroyEvent(*event);
  Observers::AbandonInChild();
  EXPECT_TRUE(has_lanes);
  EXPECT_EQ(lanes.begun.size(), 6u);
  for (const auto& [node, times] : lanes.begun) EXPECT_EQ(times, kReplays);
}

// Wants to know who waits, and no more.
class Waits final : public Observer {
 public:
  bool watches_waits() const override { return true; }
  void Started(const Stream&, uint64_t, const Task&) noexcept override { story += "begins "; }
  void HostWaits(const Stream&, uint64_t, int64_t deadline_ns) noexcept override {
    story += deadline_ns < 0 ? "waits " : "waits for a while ";
  }
  void HostGoesOn(const Stream&, uint64_t) noexcept override { story += "goes on "; }
  std::string story;
};

class WaitsWatched : public StepTest {
 protected:
  void SetUp() override {
    Observers::Add(waits_);
    StepTest::SetUp();
  }
  void TearDown() override {
    StepTest::TearDown();
    Observers::AbandonInChild();
  }
  Waits waits_;
};

TEST_F(WaitsWatched, OneWhoAsksForWaitsIsNotToldOfRuns) {
  EXPECT_FALSE(Observers::watch_runs());
  Stream& stream = NewStream();
  std::vector<std::string> story;
  stream.Submit(MakeTask(Named{&story}));
  EXPECT_TRUE(TheEngine().WaitFor(stream, stream.tail(), -1));
  EXPECT_TRUE(TheEngine().WaitFor(stream, stream.tail(), NowNs() + 1'000'000'000));
  EXPECT_EQ(waits_.story, "waits goes on waits for a while goes on ");
}

class Circle : public StepTest {};

TEST_F(Circle, StreamsThatWaitForEachOtherAreNamedOnce) {
  Stream &a = NewStream(), &b = NewStream();
  Event &first = NewEvent(), &second = NewEvent();
  first.MakeWait(a, 0);
  second.MakeWait(b, 0);
  first.Record(b);
  second.Record(a);
  engine_.RunAll();
  EXPECT_EQ(
      ExplainWait(a),
      fmt::format("stream {0} waits for stream {1}, which waits for stream {0}: none of them can get on",
                  a.id(), b.id()));
  a.Drop();
  engine_.RunAll();
  a.StopDropping();
  DestroyEvent(first);
  DestroyEvent(second);
}

}  // namespace
}  // namespace belay::rt::rings
