// Capturing two words of memory: the small work that the capture tests record and replay.
#pragma once

#include "runtime_fixture.h"

namespace conformance {

class CaptureTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    main_ = NewStream();
    side_ = NewStream();
    words_ = NewWord();
    for (int i = 0; i < 8; ++i) words_[i] = 0;
  }

  void Begin(aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) {
    ASSERT_EQ(aclmdlRICaptureBegin(main_, mode), ACL_SUCCESS);
  }
  aclmdlRI End() {
    aclmdlRI model = nullptr;
    EXPECT_EQ(aclmdlRICaptureEnd(main_, &model), ACL_SUCCESS);
    return model;
  }
  // words[to] = words[from] when the stream gets there.
  void Copy(int to, int from, aclrtStream stream) {
    EXPECT_EQ(aclrtMemcpyAsync(words_ + to, 8, words_ + from, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
              ACL_SUCCESS);
  }
  void Join(aclrtStream stream, aclrtStream after) {
    aclrtEvent event = NewEvent(ACL_EVENT_SYNC);
    EXPECT_EQ(aclrtRecordEvent(event, after), ACL_SUCCESS);
    EXPECT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
  }
  void Replay(aclmdlRI model, aclrtStream stream) {
    EXPECT_EQ(aclmdlRIExecuteAsync(model, stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  }
  // words[1] = words[0] on the main stream, as a model.
  aclmdlRI SimpleModel() {
    Begin();
    Copy(1, 0, main_);
    return End();
  }
  static aclmdlRICaptureStatus StatusOf(aclrtStream stream) {
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    aclmdlRI model = nullptr;
    EXPECT_EQ(aclmdlRICaptureGetInfo(stream, &status, &model), ACL_SUCCESS);
    return status;
  }
  // The capture failed; its streams are ordinary ones again.
  void ExpectEndFails(aclError code = -1) {
    aclmdlRI model = nullptr;
    aclError result = aclmdlRICaptureEnd(main_, &model);
    EXPECT_NE(result, ACL_SUCCESS);
    if (code != -1) {
      EXPECT_EQ(result, code);
    }
    ExpectStreamsWork();
  }
  void ExpectStreamsWork() {
    for (aclrtStream stream : {main_, side_}) {
      EXPECT_EQ(StatusOf(stream), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
      EXPECT_EQ(aclrtMemsetAsync(words_ + 7, 8, 1, 8, stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    }
  }

  aclrtStream main_ = nullptr, side_ = nullptr;
  uint64_t* words_ = nullptr;
};

}  // namespace conformance
