// What observers are told, and when.
#include "runtime/observer.h"

#include <string>
#include <vector>

#include "runtime/ring_support.h"

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

}  // namespace
}  // namespace belay::rt::rings
