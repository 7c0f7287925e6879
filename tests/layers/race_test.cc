// Programs with one wait too few, each with its twin that has it. The first must be told of, and where; the
// second must not.
#include <pthread.h>

#include <cstdint>
#include <cstdlib>
#include <future>
#include <regex>
#include <string>
#include <vector>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_index_select.h"
#include "fixture.h"
#include "gmock/gmock.h"

namespace {

using conformance::Started;
using testing::HasSubstr;

constexpr size_t kBytes = 4096;

class Races : public Started, public testing::WithParamInterface<bool> {
 protected:
  static void SetUpTestSuite() { setenv("BELAY_LAYERS", "race", 1); }
  void SetUp() override {
    Started::SetUp();
    if (HasFatalFailure()) return;
    a_ = NewStream();
    b_ = NewStream();
    for (void** block : {&x_, &y_, &z_}) EXPECT_OK(aclrtMalloc(block, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMallocHost(&pinned_, kBytes));
    testing::internal::CaptureStderr();
  }
  void TearDown() override {
    EXPECT_OK(aclrtSynchronizeDevice());
    if (HasFatalFailure()) return;
    const std::string told = testing::internal::GetCapturedStderr();
    if (right()) {
      EXPECT_EQ(told, "");
    } else {
      EXPECT_THAT(told, HasSubstr("RACE")) << told;
      // Both places of this file, and what to do.
      std::smatch line;
      std::string rest = told;
      int lines = 0;
      for (; std::regex_search(rest, line, std::regex("race_test\\.cc:[0-9]+")); rest = line.suffix())
        ++lines;
      EXPECT_GE(lines, 2) << told;
      EXPECT_THAT(told, HasSubstr("mend: "));
    }
    Started::TearDown();
  }

  static bool right() { return GetParam(); }
  static void Copy(void* to, const void* from, aclrtStream stream, size_t bytes = kBytes) {
    EXPECT_OK(aclrtMemcpyAsync(to, bytes, from, bytes, ACL_MEMCPY_DEFAULT, stream));
  }
  void Link(aclrtStream from, aclrtStream to) {
    aclrtEvent event = NewEvent();
    EXPECT_OK(aclrtRecordEvent(event, from));
    EXPECT_OK(aclrtStreamWaitEvent(to, event));
  }
  // A matrix of floats in a block.
  static aclTensor* Matrix(void* block, std::vector<int64_t> shape, std::vector<int64_t> strides,
                           int64_t offset = 0) {
    int64_t storage[] = {kBytes / 4};
    return aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), offset, ACL_FORMAT_ND,
                           storage, 1, block);
  }
  static void Add(aclTensor* self, aclTensor* other, aclTensor* out, aclrtStream stream) {
    float one = 1;
    aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_OK(aclnnAddGetWorkspaceSize(self, other, alpha, out, &bytes, &executor));
    EXPECT_OK(aclnnAdd(nullptr, 0, executor, stream));
    aclDestroyScalar(alpha);
  }

  aclrtStream a_ = nullptr, b_ = nullptr;
  void *x_ = nullptr, *y_ = nullptr, *z_ = nullptr, *pinned_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(, Races, testing::Bool(),
                         [](const auto& info) { return info.param ? "right" : "wrong"; });

TEST_P(Races, ReadOfWhatAnotherStreamWrites) {
  Copy(y_, x_, a_);
  if (right()) Link(a_, b_);
  Copy(z_, y_, b_);
}

TEST_P(Races, WriteOfWhatAnotherStreamWrites) {
  EXPECT_OK(aclrtMemsetAsync(y_, kBytes, 1, kBytes, a_));
  if (right()) Link(a_, b_);
  EXPECT_OK(aclrtMemsetAsync(y_, kBytes, 2, kBytes, b_));
}

TEST_P(Races, WriteOfWhatAnotherStreamReads) {
  Copy(y_, x_, a_);
  if (right()) Link(a_, b_);
  EXPECT_OK(aclrtMemsetAsync(x_, kBytes, 2, kBytes, b_));
}

TEST_P(Races, ReadsDoNotDisturbEachOther) {
  Copy(y_, x_, a_);
  if (right()) Copy(z_, x_, b_);  // reads x too
  if (!right()) Copy(x_, z_, b_);
}

TEST_P(Races, TheRecordComesTooEarly) {
  aclrtEvent event = NewEvent();
  if (!right()) {
    EXPECT_OK(aclrtRecordEvent(event, a_));
  }
  Copy(y_, x_, a_);
  if (right()) {
    EXPECT_OK(aclrtRecordEvent(event, a_));
  }
  EXPECT_OK(aclrtStreamWaitEvent(b_, event));
  Copy(z_, y_, b_);
}

TEST_P(Races, AnotherStreamIsWaitedFor) {
  aclrtStream c = NewStream();
  Copy(y_, x_, a_);
  Link(right() ? a_ : c, b_);
  Copy(z_, y_, b_);
}

TEST_P(Races, OrderGoesOverAThirdStream) {
  aclrtStream c = NewStream();
  Copy(y_, x_, a_);
  Link(a_, c);
  if (right()) Link(c, b_);
  Copy(z_, y_, b_);
}

TEST_P(Races, TheHostWaitsForOneOfBoth) {
  Copy(y_, x_, a_);
  EXPECT_OK(aclrtSynchronizeStream(right() ? a_ : b_));
  Copy(z_, y_, b_);
}

TEST_P(Races, TheHostAsksUntilItIsDone) {
  Copy(y_, x_, a_);
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  while (right() && status != ACL_STREAM_STATUS_COMPLETE) {
    EXPECT_OK(aclrtStreamQuery(a_, &status));
  }
  Copy(z_, y_, b_);
}

TEST_P(Races, TheHostCopiesWhatIsBeingWritten) {
  Copy(y_, x_, a_);
  if (right()) {
    EXPECT_OK(aclrtSynchronizeStream(a_));
  }
  std::vector<char> host(kBytes);
  EXPECT_OK(aclrtMemcpy(host.data(), kBytes, y_, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
}

TEST_P(Races, TheHostFillsWhatIsBeingRead) {
  Copy(pinned_, x_, a_);
  if (right()) {
    EXPECT_OK(aclrtSynchronizeStream(a_));
  }
  EXPECT_OK(aclrtMemset(x_, kBytes, 0, kBytes));
}

TEST_P(Races, AnEventOfTheHostIsEnough) {
  aclrtEvent event = NewEvent();
  Copy(y_, x_, a_);
  EXPECT_OK(aclrtRecordEvent(event, a_));
  Copy(x_, z_, a_);
  EXPECT_OK(aclrtSynchronizeEvent(event));
  Copy(right() ? pinned_ : x_, y_, b_);  // the second copy is not waited for, and writes x
}

TEST_P(Races, APinnedBufferIsUsedAgain) {
  Copy(x_, pinned_, a_);
  if (right()) Link(a_, b_);
  Copy(pinned_, y_, b_);
}

TEST_P(Races, OperatorsSayWhatTheyTouch) {
  aclTensor* x = Matrix(x_, {8, 8}, {8, 1});
  aclTensor* y = Matrix(y_, {8, 8}, {8, 1});
  aclTensor* z = Matrix(z_, {8, 8}, {8, 1});
  Add(x, y, z, a_);
  if (right()) Link(a_, b_);
  Copy(pinned_, z_, b_, 256);
  for (aclTensor* tensor : {x, y, z}) aclDestroyTensor(tensor);
}

// Columns 0 to 3 and 4 to 7 of one matrix lie within each other's reach, and share no byte; 3 to 6 do.
TEST_P(Races, ColumnsAreApart) {
  aclTensor* left = Matrix(x_, {8, 4}, {8, 1});
  aclTensor* columns = Matrix(x_, {8, 4}, {8, 1}, right() ? 4 : 3);
  aclTensor* other = Matrix(y_, {8, 4}, {4, 1});
  Add(other, other, left, a_);
  Add(other, other, columns, b_);
  for (aclTensor* tensor : {left, columns, other}) aclDestroyTensor(tensor);
}

TEST_P(Races, AReplayTouchesWhatItsNodesTouch) {
  EXPECT_OK(aclmdlRICaptureBegin(a_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  Copy(y_, x_, a_);
  aclmdlRI model = nullptr;
  EXPECT_OK(aclmdlRICaptureEnd(a_, &model));
  EXPECT_OK(aclmdlRIExecuteAsync(model, a_));
  if (right()) Link(a_, b_);
  Copy(z_, y_, b_);
  EXPECT_OK(aclrtSynchronizeDevice());
  EXPECT_OK(aclmdlRIDestroy(model));
}

// The branches join at the end, as a capture must; nothing orders them before that.
TEST_P(Races, BranchesOfAGraph) {
  EXPECT_OK(aclmdlRICaptureBegin(a_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  Link(a_, b_);
  Copy(y_, x_, a_);
  if (right()) Link(a_, b_);
  Copy(z_, y_, b_);
  Link(b_, a_);
  aclmdlRI model = nullptr;
  EXPECT_OK(aclmdlRICaptureEnd(a_, &model));
  EXPECT_OK(aclmdlRIDestroy(model));
}

TEST_P(Races, ManyRoundsAreToldOnce) {
  for (int i = 0; i < 50; ++i) {
    Copy(y_, x_, a_);
    if (right()) Link(a_, b_);
    Copy(z_, y_, b_);
    if (right()) Link(b_, a_);
  }
}

// --- what nobody may accuse

class Right : public Races {
 protected:
  // Stream b_ waits for the record to come, behind which y_ is overwritten.
  void WaitAhead(aclrtNotify notify) {
    EXPECT_OK(aclrtWaitAndResetNotify(notify, b_, 0));
    Copy(z_, y_, b_);
    Copy(y_, x_, a_);
    EXPECT_OK(aclrtRecordNotify(notify, a_));
    EXPECT_OK(aclrtSynchronizeStream(b_));
  }
};
INSTANTIATE_TEST_SUITE_P(, Right, testing::Values(true), [](const auto&) { return "right"; });

TEST_P(Right, MemoryThatComesBackIsNew) {
  for (int i = 0; i < 8; ++i) {
    void* block = nullptr;
    EXPECT_OK(aclrtMalloc(&block, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMemsetAsync(block, kBytes, i, kBytes, i % 2 == 0 ? a_ : b_));
    EXPECT_OK(aclrtSynchronizeStream(i % 2 == 0 ? a_ : b_));
    EXPECT_OK(aclrtFree(block));
  }
}

// What a value in memory orders has no position.
TEST_P(Right, AValueLetsAnotherStreamGo) {
  auto* word = static_cast<uint64_t*>(z_);
  *word = 0;
  EXPECT_OK(aclrtValueWait(word, 1, 1, b_));
  Copy(pinned_, y_, b_);
  Copy(y_, x_, a_);
  EXPECT_OK(aclrtValueWrite(word, 1, 0, a_));
  EXPECT_OK(aclrtSynchronizeStream(b_));
  std::vector<char> host(kBytes);
  EXPECT_OK(aclrtMemcpy(host.data(), kBytes, y_, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
}

// The records are the waits', each in its turn, and the copies that come behind them come before the waits'.
TEST_P(Right, NotifiesAreWaitedForAhead) {
  aclrtNotify notify = nullptr;
  EXPECT_OK(aclrtCreateNotify(&notify, 0));
  for (int i = 0; i < 3; ++i) {
    WaitAhead(notify);
  }
  EXPECT_OK(aclrtDestroyNotify(notify));
}

TEST_P(Right, ANotifyIsResetBetweenItsRecordAndItsWait) {
  aclrtNotify notify = nullptr;
  EXPECT_OK(aclrtCreateNotify(&notify, 0));
  EXPECT_OK(aclrtRecordNotify(notify, a_));
  EXPECT_OK(aclrtSynchronizeStream(a_));
  EXPECT_OK(aclrtNotifyBatchReset(&notify, 1));
  WaitAhead(notify);
  EXPECT_OK(aclrtDestroyNotify(notify));
}

// A launch has had the record, so that the stream waits for the next one.
TEST_P(Right, AWaitInAGraphHasARecordToo) {
  aclrtNotify notify = nullptr;
  EXPECT_OK(aclrtCreateNotify(&notify, 0));
  EXPECT_OK(aclmdlRICaptureBegin(a_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(aclrtWaitAndResetNotify(notify, a_, 0));
  aclmdlRI model = nullptr;
  EXPECT_OK(aclmdlRICaptureEnd(a_, &model));
  EXPECT_OK(aclrtRecordNotify(notify, b_));
  EXPECT_OK(aclmdlRIExecuteAsync(model, a_));
  EXPECT_OK(aclrtSynchronizeStream(a_));
  WaitAhead(notify);
  EXPECT_OK(aclmdlRIDestroy(model));
  EXPECT_OK(aclrtDestroyNotify(notify));
}

// A notify lets the other branch go on, which no edge of the graph says.
TEST_P(Right, ANotifyOrdersBranchesOfAGraph) {
  aclrtNotify notify = nullptr;
  EXPECT_OK(aclrtCreateNotify(&notify, 0));
  EXPECT_OK(aclmdlRICaptureBegin(a_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  Link(a_, b_);
  Copy(y_, x_, a_);
  EXPECT_OK(aclrtRecordNotify(notify, a_));
  EXPECT_OK(aclrtWaitAndResetNotify(notify, b_, 0));
  Copy(z_, y_, b_);
  Link(b_, a_);
  aclmdlRI model = nullptr;
  EXPECT_OK(aclmdlRICaptureEnd(a_, &model));
  EXPECT_OK(aclmdlRIExecuteAsync(model, a_));
  EXPECT_OK(aclrtSynchronizeStream(a_));
  EXPECT_OK(aclmdlRIDestroy(model));
  EXPECT_OK(aclrtDestroyNotify(notify));
}

TEST_P(Right, AWaitThatCameBeforeTheRecord) {
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtCreateEvent(&event));
  EXPECT_OK(aclrtStreamWaitEvent(b_, event));
  Copy(z_, y_, b_);
  Copy(y_, x_, a_);
  EXPECT_OK(aclrtRecordEvent(event, a_));
  EXPECT_OK(aclrtSynchronizeStream(b_));
  EXPECT_OK(aclrtDestroyEvent(event));
}

// Which rows are read, only the data says.
TEST_P(Right, WhatTheDataDecidesIsNotJudged) {
  aclTensor* table = Matrix(x_, {64, 8}, {8, 1});
  aclTensor* out = Matrix(y_, {2, 8}, {8, 1});
  static_cast<int32_t*>(z_)[0] = 1;
  static_cast<int32_t*>(z_)[1] = 2;
  int64_t two[] = {2}, one[] = {1};
  aclTensor* index = aclCreateTensor(two, 1, ACL_INT32, one, 0, ACL_FORMAT_ND, two, 1, z_);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_OK(aclnnIndexSelectGetWorkspaceSize(table, 0, index, out, &bytes, &executor));
  void* workspace = nullptr;
  if (bytes != 0) {
    EXPECT_OK(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  EXPECT_OK(aclnnIndexSelect(workspace, bytes, executor, a_));
  EXPECT_OK(aclrtMemsetAsync(x_, 32, 0, 32, b_));  // row 0
  EXPECT_OK(aclrtSynchronizeDevice());
  for (aclTensor* tensor : {table, out, index}) aclDestroyTensor(tensor);
}

// Whose record it was that an event for other processes waited for, nobody here knows.
TEST_P(Right, AnEventForOtherProcesses) {
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
  Copy(y_, x_, a_);
  EXPECT_OK(aclrtRecordEvent(event, a_));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  Copy(z_, y_, b_);
  EXPECT_OK(aclrtDestroyEvent(event));
}

TEST_P(Right, ACallbackOnAThreadOfTheProgramKnowsWhatCameBefore) {
  const auto self = static_cast<uint64_t>(pthread_self());
  EXPECT_OK(aclrtSubscribeReport(self, a_));
  Copy(y_, x_, a_);
  EXPECT_OK(aclrtLaunchCallback([](void*) {}, nullptr, ACL_CALLBACK_BLOCK, a_));
  EXPECT_OK(aclrtProcessReport(60'000));
  Copy(z_, y_, b_);
  EXPECT_OK(aclrtSynchronizeDevice());
  EXPECT_OK(aclrtUnSubscribeReport(self, a_));
}

TEST_P(Right, ACallbackKnowsWhatCameBefore) {
  Copy(y_, x_, a_);
  std::promise<void> called;
  conformance::Call(a_, [&] { called.set_value(); });
  called.get_future().wait();
  Copy(z_, y_, b_);
}

}  // namespace
