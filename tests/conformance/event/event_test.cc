// Events: records, waits, queries, time; the three ways to make one.
#include "runtime_fixture.h"

namespace conformance {
namespace {

class Event : public RuntimeTest {
 protected:
  static aclrtEvent NewEx(uint32_t flags = ACL_EVENT_SYNC) {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEventExWithFlag(&event, flags), ACL_SUCCESS);
    return event;
  }
  static aclrtEvent NewPlain() {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
    return event;
  }
  static bool Complete(aclrtEvent event) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
    return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
  }
};

TEST_F(Event, AWaitOrdersTwoStreams) {
  aclrtStream first = NewStream(), second = NewStream();
  uint64_t* word = NewWord();
  aclrtEvent event = NewEx();
  Gate gate;
  gate.Close(first);
  EXPECT_EQ(aclrtValueWrite(word, 1, 0, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(word + 1, 8, word, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, second), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(second, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
  EXPECT_EQ(word[1], 1u);
}

TEST_F(Event, TheHostWaitsForARecord) {
  aclrtStream stream = NewStream();
  uint64_t* word = NewWord();
  aclrtEvent event = NewEx(ACL_EVENT_CAPTURE_STREAM_PROGRESS);
  Gate gate;
  gate.Close(stream);
  EXPECT_EQ(aclrtValueWrite(word, 3, 0, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_FALSE(Complete(event));
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, 1), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, -3), ACL_ERROR_RT_PARAM_INVALID);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(*word, 3u);
  EXPECT_TRUE(Complete(event));
}

TEST_F(Event, TheTwoQueriesMeanOppositeNumbers) {
  aclrtEvent event = NewPlain();
  aclrtEventStatus old_status = ACL_EVENT_STATUS_RESERVED;
  EXPECT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtQueryEvent(event, &old_status), ACL_SUCCESS);
  EXPECT_EQ(old_status, 0);
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, 1);
}

TEST_F(Event, WhatAnExEventIsNotFor) {
  aclrtEvent event = NewEx();
  aclrtEventStatus status;
  aclrtEventWaitStatus waits;
  EXPECT_TRUE(Complete(event)) << "never recorded";
  EXPECT_NE(aclrtQueryEvent(event, &status), ACL_SUCCESS);
  EXPECT_NE(aclrtQueryEventWaitStatus(event, &waits), ACL_SUCCESS);
  EXPECT_NE(aclrtResetEvent(event, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, event), ACL_SUCCESS) << "a wait on it passes";
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
}

TEST_F(Event, FlagsAreChecked) {
  aclrtEvent event = nullptr;
  EXPECT_NE(aclrtCreateEventWithFlag(&event, 0x1000), ACL_SUCCESS);
  EXPECT_NE(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC | ACL_EVENT_SYNC), ACL_SUCCESS);
  EXPECT_NE(aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL | ACL_EVENT_SYNC), ACL_SUCCESS);
  event = NewEvent(ACL_EVENT_TIME_LINE);
  EXPECT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  EXPECT_NE(aclrtStreamWaitEvent(nullptr, event), ACL_SUCCESS) << "without ACL_EVENT_SYNC";
}

TEST_F(Event, AWaitBindsToTheRecordItSees) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtEvent event = NewEx();
  Gate gate;
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  gate.Close(first);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS) << "later, and behind the gate";
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
  EXPECT_FALSE(Complete(event)) << "the query sees the latest record";
}

TEST_F(Event, AnUnrecordedPlainEventHoldsItsWaiters) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtEvent event = NewPlain();
  aclrtEventWaitStatus waits = ACL_EVENT_WAIT_STATUS_RESERVED;
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(second, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &waits), ACL_SUCCESS);
  EXPECT_EQ(waits, ACL_EVENT_WAIT_STATUS_NOT_READY);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &waits), ACL_SUCCESS);
  EXPECT_EQ(waits, ACL_EVENT_WAIT_STATUS_COMPLETE);
}

TEST_F(Event, ResetMakesItUnrecorded) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewPlain();
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_TRUE(Complete(event));
  EXPECT_EQ(aclrtResetEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_FALSE(Complete(event));
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
}

TEST_F(Event, MayBeRecordedAgain) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewPlain();
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  Gate gate;
  gate.Close(stream);
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS) << "without a reset";
  EXPECT_FALSE(Complete(event));
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_TRUE(Complete(event));
}

TEST_F(Event, SeveralStreamsWaitForOne) {
  aclrtStream main = NewStream();
  aclrtEvent event = NewEx();
  uint64_t* word = NewWord();
  Gate gate;
  gate.Close(main);
  EXPECT_EQ(aclrtValueWrite(word, 9, 0, main), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, main), ACL_SUCCESS);
  aclrtStream others[3];
  for (int i = 0; i < 3; ++i) {
    others[i] = NewStream();
    EXPECT_EQ(aclrtStreamWaitEvent(others[i], event), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpyAsync(word + 1 + i, 8, word, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, others[i]),
              ACL_SUCCESS);
  }
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(word[1 + i], 9u);
}

TEST_F(Event, ElapsedTime) {
  aclrtStream stream = NewStream();
  aclrtEvent start = NewEvent(ACL_EVENT_TIME_LINE), end = NewEvent(ACL_EVENT_TIME_LINE);
  float ms = -1;
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  EXPECT_EQ(aclrtRecordEvent(start, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(end, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_SUCCESS);
  EXPECT_GT(ms, 0);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, end, start), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
  uint64_t first = 0, second = 0;
  EXPECT_EQ(aclrtEventGetTimestamp(start, &first), ACL_SUCCESS);
  EXPECT_EQ(aclrtEventGetTimestamp(end, &second), ACL_SUCCESS);
  EXPECT_LE(first, second);
}

TEST_F(Event, DestroyDoesNotWait) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtEvent event = NewEx();
  Gate gate;
  gate.Close(first);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(second, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
}

TEST_F(Event, WaitLimits) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewPlain();
  EXPECT_EQ(aclrtStreamWaitEventWithTimeout(stream, event, -1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtStreamWaitEventWithTimeout(stream, event, 1), ACL_SUCCESS);
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS) << "nobody records the event";
  EXPECT_EQ(aclrtSetOpWaitTimeout(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetOpWaitTimeout(0), ACL_SUCCESS) << "holds for waits issued later";
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << "a failure is told once";
}

TEST_F(Event, RecordsWithAFlag) {
  aclrtEvent event = NewEx();
  EXPECT_EQ(aclrtRecordEventWithFlag(event, nullptr, ACL_EVENT_RECORD_DEFAULT), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEventWithFlag(event, nullptr, ACL_EVENT_RECORD_EXTERNAL),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtRecordEventWithFlag(event, nullptr, 9), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Event, LimitsOfOperators) {
  uint64_t actual = 0;
  EXPECT_EQ(aclrtSetOpExecuteTimeOut(10), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetOpExecuteTimeOutV2(2'000'000, &actual), ACL_SUCCESS);
  EXPECT_EQ(actual, 2'000'000u);
}

TEST_F(Event, Numbers) {
  uint32_t first = 0, second = 0;
  EXPECT_EQ(aclrtGetEventId(NewPlain(), &first), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetEventId(NewPlain(), &second), ACL_SUCCESS);
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace conformance
