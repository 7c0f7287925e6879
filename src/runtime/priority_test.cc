// Which of several ready streams runs first.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/ring_support.h"
#include "runtime/thread_engine.h"

namespace belay::rt::rings {
namespace {

struct NoteTask {
  static constexpr const char* kName = "note";
  static constexpr bool kTouchesNothing = true;
  std::vector<uint32_t>* order;
  uint32_t number;
  void Run() const { order->push_back(number); }
};

// Keeps its worker until it is opened.
struct GateTask {
  static constexpr const char* kName = "gate";
  static constexpr bool kTouchesNothing = true;
  std::atomic<int>* gate;
  void Run() const {
    *gate = 1;
    while (*gate != 2) std::this_thread::yield();
  }
};

// One worker and nobody who helps: streams run one after another.
class Priority : public WorkersTest {
 protected:
  Priority() : WorkersTest(1) {}
  Stream& NewStream(uint32_t priority) { return context_->CreateStream({.priority = priority}); }
  void CloseGate() {
    NewStream(0).Submit(MakeTask(GateTask{&gate_}));
    while (gate_ != 1) std::this_thread::yield();
  }
  // Submits a note to a stream of each of these priorities while the worker is busy, then lets it go.
  std::vector<uint32_t> OrderOf(const std::vector<uint32_t>& priorities) {
    std::vector<Stream*> streams;
    for (uint32_t p : priorities) streams.push_back(&NewStream(p));
    CloseGate();
    for (size_t i = 0; i < streams.size(); ++i)
      streams[i]->Submit(MakeTask(NoteTask{&order_, priorities[i]}));
    gate_ = 2;
    for (Stream* stream : streams) Wait(*stream);
    return order_;
  }

  std::atomic<int> gate_{0};
  std::vector<uint32_t> order_;
};

TEST_F(Priority, TheHighestRunsFirst) {
  EXPECT_EQ(OrderOf({7, 3, 0, 5, 3, 1}), (std::vector<uint32_t>{0, 1, 3, 3, 5, 7}));
}

TEST_F(Priority, AmongEqualsTheOldestRunsFirst) {
  std::vector<Stream*> streams;
  for (int i = 0; i < 20; ++i) streams.push_back(&NewStream(4));
  CloseGate();
  for (uint32_t i = 0; i < 20; ++i) streams[i]->Submit(MakeTask(NoteTask{&order_, i}));
  gate_ = 2;
  for (Stream* stream : streams) Wait(*stream);
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(order_[i], i);
}

TEST_F(Priority, IsThatOfTheMomentWhenTheStreamBecomesReady) {
  Stream& low = NewStream(0);
  Stream& high = NewStream(0);
  CloseGate();
  low.SetPriority(6);
  low.Submit(MakeTask(NoteTask{&order_, 6}));
  high.Submit(MakeTask(NoteTask{&order_, 0}));
  gate_ = 2;
  Wait(low);
  Wait(high);
  EXPECT_EQ(order_, (std::vector<uint32_t>{0, 6}));
}

// What a finished task makes ready runs on the same worker, but not past a stream of a higher priority.
TEST_F(Priority, GoesBeforeWhatTheWorkerKeeps) {
  Stream& source = NewStream(0);
  Stream& follower = NewStream(5);
  Stream& high = NewStream(2);
  Event& event = NewEvent();
  CloseGate();
  source.Submit(MakeTask(EmptyTask{}));
  event.Record(source);
  event.MakeWait(follower, 0);
  follower.Submit(MakeTask(NoteTask{&order_, 5}));
  high.Submit(MakeTask(NoteTask{&order_, 2}));
  gate_ = 2;
  Wait(follower);
  Wait(high);
  EXPECT_EQ(order_, (std::vector<uint32_t>{2, 5}));
}

// Every so many picks one of the lower priorities has its turn, each of them.
TEST_F(Priority, LowerOnesDoNotStarve) {
  ReadyList list;
  Stream& one = NewStream(0);
  Stream& other = NewStream(0);
  Stream& third = NewStream(3);
  Stream& seventh = NewStream(7);
  list.Push(one);
  list.Push(other);
  list.Push(third);
  list.Push(seventh);
  std::string picks;
  for (int i = 0; i < 32; ++i) {
    Stream* stream = list.Pop();
    picks += std::to_string(stream->priority());
    list.Push(*stream);
  }
  EXPECT_EQ(picks, "00000003000000070000000300000007");
  while (list.Pop() != nullptr) {
  }
  EXPECT_TRUE(list.empty());
}

// A task of a high stream that submits itself again until the low stream has run.
struct AgainTask {
  static constexpr const char* kName = "again";
  static constexpr bool kTouchesNothing = true;
  Stream* stream;
  const std::atomic<bool>* over;
  void Run() const {
    if (!*over) stream->Submit(MakeTask(*this, kLongTask));
  }
};
struct SetTask {
  static constexpr const char* kName = "set";
  static constexpr bool kTouchesNothing = true;
  std::atomic<bool>* flag;
  void Run() const { *flag = true; }
};

TEST_F(Priority, AStreamThatIsAlwaysReadyLetsALowOneRun) {
  std::atomic<bool> over{false};
  Stream& low = NewStream(7);
  std::vector<Stream*> high{&NewStream(0), &NewStream(0)};
  CloseGate();
  for (Stream* stream : high) stream->Submit(MakeTask(AgainTask{stream, &over}, kLongTask));
  low.Submit(MakeTask(SetTask{&over}));
  gate_ = 2;
  Wait(low);
  for (Stream* stream : high) {
    while (!stream->Idle()) Wait(*stream);
  }
}

class StepPriority : public StepTest {};

TEST_F(StepPriority, TheStepEngineRunsTheHighestFirst) {
  std::vector<uint32_t> order;
  for (uint32_t p : {7u, 0u, 3u}) {
    context_->CreateStream({.priority = p}).Submit(MakeTask(NoteTask{&order, p}));
  }
  engine_.RunAll();
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 3, 7}));
}

}  // namespace
}  // namespace belay::rt::rings
