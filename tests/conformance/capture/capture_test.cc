// Capturing: what is kept, how streams join, what a capture forbids, how it ends.
#include "capture_fixture.h"

namespace conformance {
namespace {

constexpr aclError kUnjoined = 107025, kCaptured = 107027, kMode = 107030;

class Capture : public CaptureTest {};

TEST_F(Capture, TasksAreKeptAndRunOnReplayOnly) {
  Begin();
  words_[0] = 5;
  Copy(1, 0, main_);
  aclmdlRI model = End();
  EXPECT_EQ(aclrtSynchronizeStream(main_), ACL_SUCCESS);
  EXPECT_EQ(words_[1], 0u) << "it was not run";
  words_[0] = 6;
  Replay(model, main_);
  EXPECT_EQ(words_[1], 6u) << "the source as it is at replay";
  words_[0] = 7;
  Replay(model, side_);
  EXPECT_EQ(words_[1], 7u) << "on any stream";
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIExecuteAsync(model, main_), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(Capture, TasksBeforeAndAfterAreOrdinary) {
  words_[0] = 3;
  Copy(1, 0, main_);
  Begin();
  Copy(2, 0, main_);
  aclmdlRI model = End();
  Copy(3, 0, main_);
  EXPECT_EQ(aclrtSynchronizeStream(main_), ACL_SUCCESS);
  EXPECT_EQ(words_[1], 3u);
  EXPECT_EQ(words_[2], 0u);
  EXPECT_EQ(words_[3], 3u);
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
}

TEST_F(Capture, AnotherStreamJoinsAndComesBack) {
  Begin();
  Copy(1, 0, main_);
  Join(side_, main_);
  EXPECT_EQ(StatusOf(side_), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  Copy(2, 1, side_);
  Join(main_, side_);
  Copy(3, 2, main_);
  aclmdlRI model = End();
  EXPECT_EQ(StatusOf(side_), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  for (uint64_t value = 10; value < 20; ++value) {
    words_[0] = value;
    Replay(model, main_);
    EXPECT_EQ(words_[3], value);
  }
  ExpectStreamsWork();
}

TEST_F(Capture, JoiningIsTransitive) {
  aclrtStream third = NewStream();
  Begin();
  Copy(1, 0, main_);
  Join(side_, main_);
  Copy(2, 1, side_);
  Join(third, side_);
  Copy(3, 2, third);
  Join(side_, third);
  Join(main_, side_) /* third comes back through side */;
  aclmdlRI model = End();
  words_[0] = 8;
  Replay(model, main_);
  EXPECT_EQ(words_[3], 8u);
}

TEST_F(Capture, IndependentBranchesRunAtTheSameTime) {
  Begin();
  Join(side_, main_);
  // Each branch waits for what the other writes.
  EXPECT_EQ(aclrtValueWait(words_, 1, ACL_VALUE_WAIT_EQ, main_), ACL_SUCCESS);
  EXPECT_EQ(aclrtValueWrite(words_ + 1, 1, 0, main_), ACL_SUCCESS);
  EXPECT_EQ(aclrtValueWrite(words_, 1, 0, side_), ACL_SUCCESS);
  EXPECT_EQ(aclrtValueWait(words_ + 1, 1, ACL_VALUE_WAIT_EQ, side_), ACL_SUCCESS);
  Join(main_, side_);
  Replay(End(), main_);
}

TEST_F(Capture, AStreamThatDoesNotComeBackIsRefused) {
  Begin();
  Copy(1, 0, main_);
  Join(side_, main_);
  Copy(2, 1, side_);
  ExpectEndFails(kUnjoined);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("stream"));
}

TEST_F(Capture, ATaskAfterComingBackIsRefused) {
  Begin();
  Join(side_, main_);
  Copy(1, 0, side_);
  Join(main_, side_);
  Copy(2, 0, side_);
  ExpectEndFails();
}

TEST_F(Capture, GetInfoTellsTheInstance) {
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED;
  aclmdlRI building = nullptr;
  EXPECT_EQ(StatusOf(main_), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(StatusOf(nullptr), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  Begin();
  EXPECT_EQ(aclmdlRICaptureGetInfo(main_, &status, &building), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  EXPECT_NE(building, nullptr);
  EXPECT_NE(aclmdlRIExecuteAsync(building, side_), ACL_SUCCESS) << "not finished";
  EXPECT_NE(aclmdlRIDestroy(building), ACL_SUCCESS);
  EXPECT_EQ(End(), building);
}

TEST_F(Capture, BeginAndEndAreChecked) {
  aclmdlRI model = nullptr;
  auto unknown = static_cast<aclmdlRICaptureMode>(9);
  EXPECT_NE(aclmdlRICaptureBegin(nullptr, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  EXPECT_NE(aclmdlRICaptureBegin(main_, unknown), ACL_SUCCESS);
  EXPECT_NE(aclmdlRICaptureEnd(main_, &model), ACL_SUCCESS) << "nothing to end";
  Begin();
  EXPECT_NE(aclmdlRICaptureBegin(main_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  Join(side_, main_);
  EXPECT_NE(aclmdlRICaptureEnd(side_, &model), ACL_SUCCESS) << "not the stream that began";
  Join(main_, side_);
  aclmdlRIDestroy(End());
}

TEST_F(Capture, EndBelongsToTheThreadThatBeganUnlessRelaxed) {
  aclrtContext context = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  auto end_elsewhere = [&] {
    aclError result = -1;
    std::thread([&] {
      aclmdlRI model = nullptr;
      aclrtSetCurrentContext(context);
      result = aclmdlRICaptureEnd(main_, &model);
    }).join();
    return result;
  };
  Begin();
  EXPECT_NE(end_elsewhere(), ACL_SUCCESS);
  aclmdlRIDestroy(End());
  Begin(ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(end_elsewhere(), ACL_SUCCESS);
}

TEST_F(Capture, SynchronisingWhatIsCapturedSpoilsIt) {
  aclrtStreamStatus status;
  aclrtEvent event = NewEvent(ACL_EVENT_SYNC);
  auto try_each = [&](auto call) {
    Begin(ACL_MODEL_RI_CAPTURE_MODE_RELAXED);  // forbidden in every mode
    Copy(1, 0, main_);
    EXPECT_EQ(aclrtRecordEvent(event, main_), ACL_SUCCESS);
    EXPECT_EQ(call(), kCaptured);
    EXPECT_EQ(StatusOf(main_), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
    ExpectEndFails();
  };
  try_each([&] { return aclrtSynchronizeStream(main_); });
  try_each([&] { return aclrtSynchronizeStreamWithTimeout(main_, 10); });
  try_each([&] { return aclrtStreamQuery(main_, &status); });
  try_each([&] { return aclrtSynchronizeDevice(); });
  try_each([&] { return aclrtSynchronizeEvent(event); });
}

TEST_F(Capture, UnsafeCallsByMode) {
  uint64_t host = 0;
  auto copy = [&] { return aclrtMemcpy(&host, 8, words_, 8, ACL_MEMCPY_DEVICE_TO_HOST); };
  auto copy_elsewhere = [&] {
    aclError result = -1;
    std::thread([&] {
      aclrtSetDevice(0);
      result = copy();
      aclrtResetDevice(0);
    }).join();
    return result;
  };
  Begin(ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(copy(), kMode);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("aclmdlRICaptureThreadExchangeMode"));
  ExpectEndFails();
  Begin(ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(copy_elsewhere(), kMode);
  ExpectEndFails();
  Begin(ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(copy_elsewhere(), ACL_SUCCESS);
  aclmdlRIDestroy(End());
  Begin(ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(aclrtMemset(words_, 8, 0, 8), kMode);
  ExpectEndFails();
  Begin(ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(copy(), ACL_SUCCESS);
  EXPECT_EQ(copy_elsewhere(), ACL_SUCCESS);
  aclmdlRIDestroy(End());
  EXPECT_EQ(copy(), ACL_SUCCESS) << "no capture, no rule";
}

TEST_F(Capture, AThreadMayExchangeItsMode) {
  uint64_t host = 0;
  Begin(ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
  aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
  EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) << "the one before";
  EXPECT_EQ(aclrtMemcpy(&host, 8, words_, 8, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
  aclmdlRIDestroy(End());
  mode = static_cast<aclmdlRICaptureMode>(5);
  EXPECT_NE(aclmdlRICaptureThreadExchangeMode(&mode), ACL_SUCCESS);
}

TEST_F(Capture, PageableMemoryIsUnsafeToo) {
  uint64_t host = 4;
  Begin();
  EXPECT_EQ(aclrtMemcpyAsync(words_, 8, &host, 8, ACL_MEMCPY_HOST_TO_DEVICE, main_), kMode);
  ExpectEndFails();
}

TEST_F(Capture, TwoCapturesMustNotMeet) {
  aclmdlRI model = nullptr;
  aclrtEvent event = NewEvent(ACL_EVENT_SYNC);
  Begin();
  ASSERT_EQ(aclmdlRICaptureBegin(side_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, main_), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(side_, event), kMode);
  EXPECT_EQ(StatusOf(main_), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(StatusOf(side_), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  EXPECT_NE(aclmdlRICaptureEnd(side_, &model), ACL_SUCCESS);
  ExpectEndFails();
}

TEST_F(Capture, TheDefaultStreamCannotJoin) {
  aclrtEvent event = NewEvent(ACL_EVENT_SYNC);
  Begin();
  EXPECT_EQ(aclrtRecordEvent(event, main_), ACL_SUCCESS);
  EXPECT_NE(aclrtStreamWaitEvent(nullptr, event), ACL_SUCCESS);
  ExpectEndFails();
}

TEST_F(Capture, ARecordFromBeforeSpoilsIt) {
  aclrtEvent event = NewEvent(ACL_EVENT_SYNC);
  EXPECT_EQ(aclrtRecordEvent(event, side_), ACL_SUCCESS);
  Begin();
  EXPECT_NE(aclrtStreamWaitEvent(main_, event), ACL_SUCCESS);
  ExpectEndFails();
}

TEST_F(Capture, LaunchingAModelInsideSpoilsIt) {
  aclmdlRI model = SimpleModel();
  Begin();
  EXPECT_EQ(aclmdlRIExecuteAsync(model, main_), kMode);
  ExpectEndFails();
}

TEST_F(Capture, DestroyingItsStreamSpoilsIt) {
  Begin();
  Join(side_, main_);
  EXPECT_EQ(aclrtDestroyStream(side_), ACL_SUCCESS);
  side_ = NewStream();
  ExpectEndFails();
}

}  // namespace
}  // namespace conformance
