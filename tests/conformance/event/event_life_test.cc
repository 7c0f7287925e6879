// Events: making them, what their flags allow, their end and their limits.
#include "fixture.h"

namespace {

using namespace conformance;

class EventLife : public Started {};

TEST_F(EventLife, HasAnIdOfItsOwn) {
  uint32_t a = 0, b = 0;
  EXPECT_OK(aclrtGetEventId(NewEvent(), &a));
  EXPECT_OK(aclrtGetEventId(NewExEvent(ACL_EVENT_SYNC), &b));
  EXPECT_NE(a, b);
}

TEST_F(EventLife, RefusesFlagsThatDoNotExistOrExcludeEachOther) {
  aclrtEvent event = nullptr;
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtCreateEventWithFlag(&event, 0), "flag = 0.*ACL_EVENT_SYNC");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtCreateEventWithFlag(&event, 0x80), "flag = 0x80");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID,
                 aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC | ACL_EVENT_SYNC), "ACL_EVENT_IPC.*alone");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID,
                 aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL | ACL_EVENT_TIME_LINE), "alone");
  EXPECT_EQ(event, nullptr);
  NewEvent(ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE);
  NewExEvent(ACL_EVENT_IPC);
}

TEST_F(EventLife, NeedsAPlaceForTheHandle) {
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclrtCreateEvent(nullptr), "event is null");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclrtCreateEventWithFlag(nullptr, ACL_EVENT_SYNC), "event is null");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclrtCreateEventExWithFlag(nullptr, ACL_EVENT_SYNC),
                 "event is null");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclrtGetEventId(NewEvent(), nullptr), "eventId is null");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclrtGetEventAvailNum(nullptr), "eventCount is null");
}

TEST_F(EventLife, NeedsAContext) {
  InThread([] {
    aclrtEvent event;
    EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtCreateEvent(&event), "aclrtSetDevice");
    EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC),
                   "aclrtSetDevice");
    EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC),
                   "aclrtSetDevice");
  });
}

TEST_F(EventLife, WithoutSyncCannotMakeStreamsWait) {
  aclrtStream stream = NewStream();
  for (aclrtEvent event : {NewEvent(ACL_EVENT_TIME_LINE), NewEvent(ACL_EVENT_CAPTURE_STREAM_PROGRESS)}) {
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtStreamWaitEvent(stream, event), "ACL_EVENT_SYNC");
    EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtStreamWaitEventWithTimeout(stream, event, 1),
                   "ACL_EVENT_SYNC");
    EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtResetEvent(event, stream), "ACL_EVENT_SYNC");
    aclrtEventWaitStatus status;
    EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtQueryEventWaitStatus(event, &status), "ACL_EVENT_SYNC");
  }
}

TEST_F(EventLife, ExEventsAreNotResetAndNotAskedTheOldWay) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewExEvent(ACL_EVENT_SYNC);
  aclrtEventStatus status;
  aclrtEventWaitStatus wait_status;
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtResetEvent(event, stream), "record it again");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtQueryEvent(event, &status), "aclrtQueryEventStatus");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtQueryEventWaitStatus(event, &wait_status),
                 "aclrtCreateEventEx");
}

TEST_F(EventLife, RecordsWithAFlag) {
  aclrtEvent event = NewExEvent(ACL_EVENT_CAPTURE_STREAM_PROGRESS);
  EXPECT_OK(aclrtRecordEventWithFlag(event, nullptr, ACL_EVENT_RECORD_DEFAULT));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID,
                 aclrtRecordEventWithFlag(event, nullptr, ACL_EVENT_RECORD_EXTERNAL),
                 "ACL_EVENT_RECORD_EXTERNAL");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtRecordEventWithFlag(event, nullptr, 9), "flag.*9");
}

TEST_F(EventLife, DestroyedTwiceIsAnError) {
  aclrtEvent event = NewEvent();
  EXPECT_OK(aclrtDestroyEvent(event));
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyEvent(event), "was destroyed");
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclrtRecordEvent(event, nullptr), "was destroyed");
}

TEST_F(EventLife, DestroyedWhileTasksNeedIt) {
  aclrtStream first = NewStream(), second = NewStream();
  std::string order;
  aclrtEvent event = NewEvent();
  Hold hold(first);
  Call(first, [&] { order += 'a'; });
  EXPECT_OK(aclrtRecordEvent(event, first));
  EXPECT_OK(aclrtStreamWaitEvent(second, event));
  Call(second, [&] { order += 'b'; });
  EXPECT_OK(aclrtDestroyEvent(event));
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(second));
  EXPECT_EQ(order, "ab");
}

TEST_F(EventLife, NullIsNoEvent) {
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclrtDestroyEvent(nullptr), "event is null");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclrtRecordEvent(nullptr, nullptr), "event is null");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclrtStreamWaitEvent(nullptr, nullptr), "event is null");
}

TEST_F(EventLife, IpcEventsAreRefusedWherePagesSaySo) {
  aclrtEvent event = NewExEvent(ACL_EVENT_IPC);
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  uint32_t id;
  uint64_t time;
  float ms;
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtGetEventId(event, &id), "ACL_EVENT_IPC");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtEventGetTimestamp(event, &time), "ACL_EVENT_IPC");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtEventElapsedTime(&ms, event, event), "ACL_EVENT_IPC");
}

TEST_F(EventLife, TheLimitOfADeviceIs65536) {
  uint32_t left = 0;
  EXPECT_OK(aclrtGetEventAvailNum(&left));
  EXPECT_EQ(left, 65536u);
  std::vector<aclrtEvent> events(left);
  for (aclrtEvent& event : events) ASSERT_EQ(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  EXPECT_OK(aclrtGetEventAvailNum(&left));
  EXPECT_EQ(left, 0u);
  aclrtEvent more;
  EXPECT_REFUSED(ACL_ERROR_RT_NO_EVENT_RESOURCE, aclrtCreateEvent(&more), "destroy some.*BELAY_STREAM_LIMIT");
  // Pages 0080 and 0081: the limit is for those that streams wait for, and not for those of ExWithFlag.
  std::vector<aclrtEvent> uncounted(5, nullptr);
  for (aclrtEvent& event : uncounted) EXPECT_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  EXPECT_OK(aclrtCreateEventWithFlag(&uncounted.emplace_back(), ACL_EVENT_TIME_LINE));
  EXPECT_REFUSED(ACL_ERROR_RT_NO_EVENT_RESOURCE, aclrtCreateEventWithFlag(&more, ACL_EVENT_EXTERNAL),
                 "65536");
  for (aclrtEvent event : uncounted) EXPECT_OK(aclrtDestroyEvent(event));
  EXPECT_OK(aclrtDestroyEvent(events[7]));
  EXPECT_OK(aclrtGetEventAvailNum(&left));
  EXPECT_EQ(left, 1u);
  EXPECT_OK(aclrtCreateEvent(&more));
}

TEST(EventLimit, IsRaisedWithThatOfStreams) {
  setenv("BELAY_STREAM_LIMIT", "65540", 1);
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclrtSetDevice(0));
  aclrtEvent event;
  for (int i = 0; i < 65540; ++i) ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS) << i;
  EXPECT_REFUSED(ACL_ERROR_RT_NO_EVENT_RESOURCE, aclrtCreateEvent(&event), "has 65540 events");
  EXPECT_OK(aclFinalize());
  unsetenv("BELAY_STREAM_LIMIT");
}

}  // namespace
