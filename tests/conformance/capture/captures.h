// What the capture tests share: blocks of memory, copies, and captures that fork and join.
#pragma once

#include "fixture.h"

namespace conformance {

inline constexpr int kBadState = 107000;

class Captures : public Started {
 protected:
  void SetUp() override {
    Started::SetUp();
    if (HasFatalFailure()) return;
    main_ = NewStream();
    side_ = NewStream();
  }

  // A 32-bit number in device memory (which the host may read here) or in pinned memory.
  int32_t* NewDevice(int32_t value = 0) {
    void* p = nullptr;
    EXPECT_OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    *static_cast<int32_t*>(p) = value;
    return static_cast<int32_t*>(p);
  }
  int32_t* NewPinned(int32_t value = 0) {
    void* p = nullptr;
    EXPECT_OK(aclrtMallocHost(&p, 64));
    *static_cast<int32_t*>(p) = value;
    return static_cast<int32_t*>(p);
  }
  static aclError Copy(int32_t* to, const int32_t* from, aclrtStream stream) {
    return aclrtMemcpyAsync(to, 4, from, 4, ACL_MEMCPY_DEFAULT, stream);
  }

  aclError Begin(aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) {
    return aclmdlRICaptureBegin(main_, mode);
  }
  aclmdlRI End() {
    aclmdlRI model = nullptr;
    EXPECT_OK(aclmdlRICaptureEnd(main_, &model));
    EXPECT_NE(model, nullptr);
    return model;
  }
  // `to` waits for all that `from` has now.
  void Link(aclrtStream from, aclrtStream to) {
    aclrtEvent event = NewEvent();
    EXPECT_OK(aclrtRecordEvent(event, from));
    EXPECT_OK(aclrtStreamWaitEvent(to, event));
  }
  aclmdlRICaptureStatus StatusOf(aclrtStream stream) {
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    aclmdlRI model = nullptr;
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &model));
    return status;
  }
  // The streams take and run work as if nothing had been.
  void ExpectWorks(std::initializer_list<aclrtStream> streams) {
    for (aclrtStream stream : streams) {
      EXPECT_EQ(StatusOf(stream), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
      int32_t* from = NewDevice(7);
      int32_t* to = NewDevice();
      EXPECT_OK(Copy(to, from, stream));
      EXPECT_OK(aclrtSynchronizeStream(stream));
      EXPECT_EQ(*to, 7);
    }
  }
  // A capture of one copy.
  aclmdlRI CopyModel(int32_t* to, const int32_t* from) {
    EXPECT_OK(Begin());
    EXPECT_OK(Copy(to, from, main_));
    return End();
  }
  aclError RunOnce(aclmdlRI model, aclrtStream stream) {
    aclError code = aclmdlRIExecuteAsync(model, stream);
    return code != ACL_SUCCESS ? code : aclrtSynchronizeStream(stream);
  }

  aclrtStream main_ = nullptr;
  aclrtStream side_ = nullptr;
};

constexpr int kWrongMode = 107030;    // a call that the capture's mode forbids
constexpr int kQueried = 107027;      // query or synchronise of what is being captured
constexpr int kNotJoined = 107025;    // a stream that did not come back
constexpr int kInvalidated = 107033;  // the capture was spoiled

}  // namespace conformance
