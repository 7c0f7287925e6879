// What the runtime's conformance tests share: a program that has called aclInit and uses device 0, and
// something that keeps a stream busy until the test lets it go.
#pragma once

#include <acl/acl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>

namespace conformance {

inline std::string LastMessage() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "" : text;
}

class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    LastMessage();
    aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  }

  static aclrtStream NewStream() {
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    return stream;
  }
  static aclrtEvent NewEvent(uint32_t flags = ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE) {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEventWithFlag(&event, flags), ACL_SUCCESS);
    return event;
  }
  static uint64_t* NewWord() {
    void* word = nullptr;
    EXPECT_EQ(aclrtMalloc(&word, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    *static_cast<volatile uint64_t*>(word) = 0;
    return static_cast<uint64_t*>(word);
  }
};

// A stream that stands still until Open: it waits for an event that another stream has not recorded.
class Gate {
 public:
  Gate() {
    EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtCreateEventWithFlag(&event_, ACL_EVENT_SYNC), ACL_SUCCESS);
  }
  ~Gate() {
    Open();
    aclrtDestroyEvent(event_);
    aclrtDestroyStream(stream_);
  }
  // Tasks issued to the stream from now on wait for Open.
  void Close(aclrtStream stream) { EXPECT_EQ(aclrtStreamWaitEvent(stream, event_), ACL_SUCCESS); }
  void Open() {
    if (open_) return;
    open_ = true;
    EXPECT_EQ(aclrtRecordEvent(event_, stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  }

 private:
  aclrtStream stream_ = nullptr;
  aclrtEvent event_ = nullptr;
  bool open_ = false;
};

}  // namespace conformance
