// What fails in a task, whatever it throws and whoever runs it, is known by its name and its call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "runtime/ring_support.h"
#include "runtime/task_group.h"

namespace belay::rt::rings {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

enum class What { kError, kNoMemory, kException, kNumber };

struct ThrowTask {
  static constexpr const char* kName = "operator";
  static constexpr bool kTouchesNothing = true;
  static constexpr TaskKind kKind = TaskKind::kOperator;
  What what;
  bool* begun = nullptr;
  void Run() const {
    if (begun != nullptr) *begun = true;
    if (what == What::kError) Fail(507899, "a-test", "it was to fail");
    if (what == What::kNoMemory) throw std::bad_alloc();
    if (what == What::kException) throw std::runtime_error("a library says so");
    throw 7;
  }
  void Describe(std::string& out) const { out = "the thrower"; }
};

// A body that waits for a host function, and has nobody to run it.
struct NobodyTask {
  static constexpr const char* kName = "host function";
  static constexpr bool kTouchesNothing = true;
  static constexpr TaskClass kClass = TaskClass::kHostCall;
  bool Proceed(Stream& stream) const {
    if (stream.TakeCallbackDone()) return true;
    stream.Park({ParkReason::kCallback});
    stream.CallbackDone(std::make_exception_ptr(std::bad_alloc()));
    return false;
  }
};

class TaskFailures : public StepTest {
 protected:
  std::optional<TaskFailure> FailureOn(Stream& stream) {
    engine_.WaitFor(stream, stream.tail(), -1);
    return stream.TakeFailure();
  }
  ModelRI& ModelOf(std::vector<Task> tasks) {
    Stream& stream = NewStream();
    Capture::Begin(stream, CaptureMode::kRelaxed);
    for (Task& task : tasks) stream.Submit(std::move(task));
    return Capture::End(stream);
  }
};

TEST_F(TaskFailures, WhateverIsThrownHasACode) {
  struct Case {
    What what;
    int code;
    const char* id;
    const char* says;
  };
  for (const Case& c : {Case{What::kError, 507899, "a-test", "it was to fail"},
                        Case{What::kNoMemory, 207001, "task-out-of-memory", "host memory ran out"},
                        Case{What::kException, 500000, "task-exception", "a library says so"},
                        Case{What::kNumber, 500000, "task-exception", "no std::exception"}}) {
    Stream& stream = NewStream();
    stream.Submit(MakeTask(EmptyTask{}));
    stream.Submit(MakeTask(ThrowTask{c.what}));
    std::optional<TaskFailure> failure = FailureOn(stream);
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->code, c.code);
    EXPECT_STREQ(failure->id, c.id);
    EXPECT_THAT(failure->Explain(),
                StartsWith(fmt::format("task 2 of stream {} (the thrower) failed: ", stream.id())));
    EXPECT_THAT(failure->Explain(), HasSubstr(c.says));
    EXPECT_FALSE(FailureOn(stream).has_value());
  }
}

TEST_F(TaskFailures, OfAModelNameTheNode) {
  for (What what : {What::kError, What::kNoMemory, What::kException, What::kNumber}) {
    bool after = false;
    Task failing = MakeTask(ThrowTask{what});
    failing.call = 1;
    ModelRI& model = ModelOf({MakeTask(EmptyTask{}), failing, MakeTask(ThrowTask{what, &after})});
    Stream& stream = NewStream();
    for (int launch = 1; launch <= 2; ++launch) {
      model.Execute(stream);
      std::optional<TaskFailure> failure = FailureOn(stream);
      ASSERT_TRUE(failure.has_value());
      EXPECT_EQ(failure->node, 1u);
      EXPECT_THAT(
          failure->Explain(),
          StartsWith(fmt::format("task {} of stream {} (model launch) failed at node 1 of model {} (the "
                                 "thrower, submitted by {}): ",
                                 launch, stream.id(), model.id(), CallName(1))));
    }
    EXPECT_FALSE(after) << "the tasks after the one that failed";
    ModelRI::Destroy(model);
  }
}

// Waits make lanes of a model, which run their tasks elsewhere.
TEST_F(TaskFailures, OfALaneNameTheNode) {
  Stream& main = NewStream();
  Stream& side = NewStream();
  Event& fork = NewEvent();
  Event& join = NewEvent();
  Capture::Begin(main, CaptureMode::kRelaxed);
  main.Submit(MakeTask(EmptyTask{}, 1'000'000));
  fork.Record(main);
  fork.MakeWait(side, 0);
  side.Submit(MakeTask(ThrowTask{What::kNoMemory}, 1'000'000));
  main.Submit(MakeTask(EmptyTask{}, 1'000'000));
  join.Record(side);
  join.MakeWait(main, 0);
  ModelRI& forked = Capture::End(main);
  forked.Execute(main);
  std::optional<TaskFailure> failure = FailureOn(main);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, 207001);
  EXPECT_THAT(failure->Explain(),
              HasSubstr(fmt::format("failed at node 3 of model {} (the thrower)", forked.id())));
  ModelRI::Destroy(forked);
  DestroyEvent(fork);
  DestroyEvent(join);
}

TEST_F(TaskFailures, OfATaskGroupNameTheTaskInIt) {
  Stream& stream = NewStream();
  Capture::Begin(stream, CaptureMode::kRelaxed);
  stream.Submit(MakeTask(EmptyTask{}));
  Capture::BeginGroup(stream);
  stream.Submit(MakeTask(ThrowTask{What::kNoMemory}));
  Capture::EndGroup(stream);
  ModelRI& model = Capture::End(stream);
  model.Execute(stream);
  std::optional<TaskFailure> failure = FailureOn(stream);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, 207001);
  EXPECT_THAT(failure->Explain(), HasSubstr("failed at node 1 of model"));
  EXPECT_THAT(failure->Explain(), HasSubstr("(the thrower)"));
  ModelRI::Destroy(model);
}

TEST_F(TaskFailures, OfAHostFunctionThatCannotBegin) {
  Stream& stream = NewStream();
  Task task = MakeTask(NobodyTask{});
  task.call = 1;
  stream.Submit(std::move(task));
  std::optional<TaskFailure> failure = FailureOn(stream);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, 207001);
  EXPECT_EQ(failure->number, 1u);
  EXPECT_THAT(failure->Explain(), HasSubstr(fmt::format("(host function, submitted by {})", CallName(1))));
}

TEST_F(TaskFailures, StopsTheOtherStreamsOfTheContextWhereAskedTo) {
  Stream& stream = NewStream();
  Stream& other = NewStream();
  stream.context().StopOnFailure();
  stream.Submit(MakeTask(ThrowTask{What::kNoMemory}));
  FailureOn(stream);
  try {
    other.Submit(MakeTask(EmptyTask{}));
    ADD_FAILURE() << "it takes no more work";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), 207001);
    EXPECT_THAT(error.sentence(),
                HasSubstr(fmt::format("a task of stream {} failed in a context that stops", stream.id())));
    EXPECT_THAT(error.sentence(), HasSubstr("host memory ran out"));
  }
}

TEST(TaskFailureWords, AreGrammar) {
  EXPECT_EQ(SubmittedBy(0), "");
  TaskOrigin origin;
  EXPECT_EQ(origin.Words(), "task");
}

}  // namespace
}  // namespace belay::rt::rings
