// Records and waits: what a wait binds to, what a reset does, how waits time out.
#include <regex>

#include "fixture.h"

namespace {

using namespace conformance;

class EventWait : public Started {
 protected:
  std::string order_;
  void Mark(aclrtStream stream, char c) {
    Call(stream, [this, c] { order_ += c; });
  }
};

TEST_F(EventWait, AStreamWaitsForWhatWasIssuedBeforeTheRecord) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtEvent event = NewExEvent(ACL_EVENT_SYNC);
  Hold hold(first);
  Mark(first, 'a');
  EXPECT_OK(aclrtRecordEvent(event, first));
  Hold later(first);
  EXPECT_OK(aclrtStreamWaitEvent(second, event));
  Mark(second, 'b');
  EXPECT_FALSE(Idle(second));
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(second));
  EXPECT_EQ(order_, "ab") << "and not for what came after the record";
}

TEST_F(EventWait, SeveralStreamsWaitForOneEvent) {
  aclrtStream first = NewStream();
  aclrtEvent event = NewEvent();
  std::atomic<bool> done{false};
  std::atomic<int> after{0};
  Hold hold(first);
  Call(first, [&] { done = true; });
  EXPECT_OK(aclrtRecordEvent(event, first));
  std::vector<aclrtStream> waiting;
  for (int i = 0; i < 20; ++i) {
    waiting.push_back(NewStream());
    EXPECT_OK(aclrtStreamWaitEvent(waiting.back(), event));
    Call(waiting.back(), [&] { after += done; });
  }
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeDevice());
  EXPECT_EQ(after, 20);
}

TEST_F(EventWait, BindsToTheLatestRecordWhenItIsCalled) {
  aclrtStream first = NewStream(), second = NewStream(), third = NewStream();
  aclrtEvent event = NewExEvent(ACL_EVENT_SYNC);
  Hold early(first);
  EXPECT_OK(aclrtRecordEvent(event, first));
  EXPECT_OK(aclrtStreamWaitEvent(second, event));
  Hold late(third);
  EXPECT_OK(aclrtRecordEvent(event, third));
  early.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(second)) << "the later record is still held";
  aclrtEventRecordedStatus status;
  EXPECT_OK(aclrtQueryEventStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY) << "the event stands for the later record";
  late.LetGo();
  EXPECT_OK(aclrtSynchronizeEvent(event));
  EXPECT_OK(aclrtQueryEventStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
}

TEST_F(EventWait, WorksOnTheDefaultStream) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  Hold hold(stream);
  Mark(stream, 'a');
  EXPECT_OK(aclrtRecordEvent(event, stream));
  EXPECT_OK(aclrtStreamWaitEvent(nullptr, event));
  Mark(nullptr, 'b');
  EXPECT_OK(aclrtRecordEvent(NewEvent(), nullptr));
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(order_, "ab");
}

TEST_F(EventWait, AcrossContextsAndDevices) {
  aclrtContext here = CurrentContext(), there = OtherContext(1);
  aclrtStream first = NewStream(), second = StreamOf(there);
  aclrtEvent event = NewEvent();
  Hold hold(first);
  Mark(first, 'a');
  EXPECT_OK(aclrtRecordEvent(event, first));
  EXPECT_OK(aclrtSetCurrentContext(there));
  EXPECT_OK(aclrtStreamWaitEvent(second, event));
  Mark(second, 'b');
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(second));
  EXPECT_EQ(order_, "ab");
  EXPECT_OK(aclrtSetCurrentContext(here));
}

TEST_F(EventWait, AStreamOfAnotherContextIsRefused) {
  aclrtStream foreign = StreamOf(OtherContext(0));
  aclrtEvent event = NewEvent();
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclrtRecordEvent(event, foreign), "aclrtSetCurrentContext");
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclrtStreamWaitEvent(foreign, event), "aclrtSetCurrentContext");
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclrtStreamWaitEventWithTimeout(foreign, event, 1),
                 "another context");
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclrtResetEvent(event, foreign), "another context");
}

// --- events that were never recorded

TEST_F(EventWait, ATimeLimitThatEndsExplainsWhoWaitsForWhat) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtEvent never = NewEvent(), behind = NewEvent();
  EXPECT_OK(aclrtStreamWaitEvent(first, never));
  EXPECT_OK(aclrtRecordEvent(behind, first));
  EXPECT_OK(aclrtStreamWaitEvent(second, behind));
  aclrtEvent last = NewEvent();
  EXPECT_OK(aclrtRecordEvent(last, second));
  const std::string chain =
      "stream [0-9]+ waits for stream [0-9]+, which waits for event [0-9]+, which nobody has recorded";
  // Until both streams have got to their waits.
  auto explained = [&](int wanted, auto&& call, const std::string& end) {
    for (;;) {
      EXPECT_EQ(call(), wanted);
      if (std::regex_search(TakeMessage(), std::regex(end))) return;
    }
  };
  explained(
      ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, [&] { return aclrtSynchronizeStreamWithTimeout(second, 1); }, chain);
  explained(
      ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, [&] { return aclrtSynchronizeEventWithTimeout(last, 1); }, chain);
  explained(
      ACL_ERROR_RT_WAIT_TIMEOUT, [] { return aclrtSynchronizeDeviceWithTimeout(1); },
      "which nobody has recorded");
  EXPECT_OK(aclrtRecordEvent(never, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(second));
}

TEST_F(EventWait, APlainEventNeverRecordedParksTheStreamUntilItIs) {
  aclrtStream first = NewStream(), second = NewStream();
  for (aclrtEvent event : {NewEvent(), NewEvent(ACL_EVENT_SYNC)}) {
    order_.clear();
    EXPECT_OK(aclrtStreamWaitEvent(second, event));
    Mark(second, 'b');
    EXPECT_REFUSED(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(second, 5),
                   "unfinished");
    aclrtEventWaitStatus waits;
    EXPECT_OK(aclrtQueryEventWaitStatus(event, &waits));
    EXPECT_EQ(waits, ACL_EVENT_WAIT_STATUS_NOT_READY);
    Mark(first, 'a');
    EXPECT_OK(aclrtRecordEvent(event, first));
    EXPECT_OK(aclrtSynchronizeStream(second));
    EXPECT_EQ(order_, "ab");
  }
}

TEST_F(EventWait, AnExEventNeverRecordedLetsTheStreamPass) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewExEvent(ACL_EVENT_SYNC);
  aclrtEventRecordedStatus status;
  EXPECT_OK(aclrtQueryEventStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_OK(aclrtStreamWaitEvent(stream, event));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtSynchronizeEvent(event));
}

TEST_F(EventWait, AnEventDestroyedBeforeAnyRecordFailsTheWaitAndTheStreamGoesOn) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  EXPECT_OK(aclrtStreamWaitEvent(stream, event));
  Mark(stream, 'b');
  EXPECT_OK(aclrtDestroyEvent(event));
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclrtSynchronizeStream(stream),
                 "aclrtStreamWaitEvent.*destroyed before any record");
  EXPECT_EQ(order_, "b");
  EXPECT_OK(aclrtSynchronizeStream(stream)) << "reported once";
}

TEST_F(EventWait, AHostDoesNotWaitForAnEventNeverRecorded) {
  aclrtEvent event = NewEvent();
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtSynchronizeEvent(event), "not recorded.*never return");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtSynchronizeEventWithTimeout(event, 10), "not recorded");
  aclrtEventRecordedStatus status;
  EXPECT_OK(aclrtQueryEventStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
}

// --- records again, resets

TEST_F(EventWait, RecordsAgainWithoutAReset) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtEvent event = NewEvent();
  EXPECT_OK(aclrtRecordEvent(event, first));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  Hold hold(first);
  Mark(first, 'a');
  EXPECT_OK(aclrtRecordEvent(event, first));
  aclrtEventStatus status;
  EXPECT_OK(aclrtQueryEvent(event, &status));
  EXPECT_EQ(status, ACL_EVENT_STATUS_NOT_READY) << "the new record counts";
  EXPECT_OK(aclrtStreamWaitEvent(second, event));
  Mark(second, 'b');
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(second));
  EXPECT_EQ(order_, "ab");
}

TEST_F(EventWait, AResetTakesTheRecordAway) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtEvent event = NewEvent();
  aclrtEventStatus status;
  EXPECT_OK(aclrtRecordEvent(event, first));
  EXPECT_OK(aclrtStreamWaitEvent(second, event));
  EXPECT_OK(aclrtSynchronizeDevice());
  EXPECT_OK(aclrtResetEvent(event, second));
  EXPECT_OK(aclrtSynchronizeStream(second));
  EXPECT_OK(aclrtQueryEvent(event, &status));
  EXPECT_EQ(status, ACL_EVENT_STATUS_NOT_READY);
  EXPECT_OK(aclrtStreamWaitEvent(second, event));
  EXPECT_FALSE(Idle(second)) << "it waits for the next record";
  EXPECT_OK(aclrtRecordEvent(event, first));
  EXPECT_OK(aclrtSynchronizeStream(second));
}

TEST_F(EventWait, AWaitIssuedBeforeTheResetKeepsItsRecord) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtEvent event = NewEvent();
  Hold hold(first);
  EXPECT_OK(aclrtRecordEvent(event, first));
  EXPECT_OK(aclrtStreamWaitEvent(second, event));
  EXPECT_OK(aclrtResetEvent(event, second));
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(second));
}

// --- queries

TEST_F(EventWait, TheTwoQueriesCountTheOtherWayRound) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  aclrtEventStatus status;
  aclrtEventRecordedStatus recorded;
  Hold hold(stream);
  EXPECT_OK(aclrtRecordEvent(event, stream));
  EXPECT_OK(aclrtQueryEvent(event, &status));
  EXPECT_OK(aclrtQueryEventStatus(event, &recorded));
  EXPECT_EQ(int{status}, 1);
  EXPECT_EQ(int{recorded}, 0);
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeEvent(event));
  EXPECT_OK(aclrtQueryEvent(event, &status));
  EXPECT_OK(aclrtQueryEventStatus(event, &recorded));
  EXPECT_EQ(int{status}, 0);
  EXPECT_EQ(int{recorded}, 1);
}

TEST_F(EventWait, AskingEndsWithoutAnybodyWaiting) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  Mark(stream, 'a');
  EXPECT_OK(aclrtRecordEvent(event, stream));
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  while (recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY) {
    ASSERT_EQ(aclrtQueryEventStatus(event, &recorded), ACL_SUCCESS);
  }
  EXPECT_EQ(order_, "a");
}

TEST_F(EventWait, WaitStatusTellsWhetherAllWaitsArePast) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtEvent event = NewEvent();
  aclrtEventWaitStatus status;
  EXPECT_OK(aclrtQueryEventWaitStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE) << "none was issued";
  Hold hold(first);
  EXPECT_OK(aclrtRecordEvent(event, first));
  EXPECT_OK(aclrtStreamWaitEvent(second, event));
  EXPECT_OK(aclrtQueryEventWaitStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_NOT_READY);
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(second));
  EXPECT_OK(aclrtQueryEventWaitStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE);
}

// --- time limits

TEST_F(EventWait, AHostsLimitIsInMilliseconds) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  Hold hold(stream);
  EXPECT_OK(aclrtRecordEvent(event, stream));
  EXPECT_REFUSED(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, aclrtSynchronizeEventWithTimeout(event, 5), "not complete");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtSynchronizeEventWithTimeout(event, -2),
                 "timeout = -2 ms.*-1");
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeEventWithTimeout(event, 60'000));
  EXPECT_OK(aclrtSynchronizeEventWithTimeout(event, -1));
  EXPECT_EQ(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, 507047);
}

TEST_F(EventWait, AStreamsLimitIsReportedByTheNextSynchronisingCall) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtStreamWaitEventWithTimeout(stream, event, -1),
                 "0 for no limit");
  EXPECT_OK(aclrtStreamWaitEventWithTimeout(stream, event, 1));
  Mark(stream, 'b');
  EXPECT_REFUSED(ACL_ERROR_RT_TASK_TIMEOUT, aclrtSynchronizeStream(stream),
                 "aclrtStreamWaitEventWithTimeout.*limit of 1 s");
  EXPECT_EQ(order_, "b") << "later tasks run";
  aclrtEventWaitStatus status;
  EXPECT_OK(aclrtQueryEventWaitStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE) << "the wait is over";
}

TEST_F(EventWait, OpWaitTimeoutHoldsForWaitsIssuedLater) {
  aclrtStream before = NewStream(), after = NewStream();
  aclrtEvent event = NewEvent();
  EXPECT_OK(aclrtStreamWaitEvent(before, event));
  EXPECT_OK(aclrtSetOpWaitTimeout(1));
  EXPECT_OK(aclrtStreamWaitEvent(after, event));
  EXPECT_REFUSED(ACL_ERROR_RT_TASK_TIMEOUT, aclrtSynchronizeStream(after), "limit of 1 s");
  EXPECT_FALSE(Idle(before));
  EXPECT_OK(aclrtSetOpWaitTimeout(0));
  EXPECT_OK(aclrtRecordEvent(event, after));
  EXPECT_OK(aclrtSynchronizeStream(before));
}

TEST_F(EventWait, LimitsOfOperatorsAreAccepted) {
  uint64_t actual = 0;
  EXPECT_OK(aclrtSetOpExecuteTimeOut(10));
  EXPECT_OK(aclrtSetOpExecuteTimeOutV2(2'000'000, &actual));
  EXPECT_EQ(actual, 2'000'000u);
  EXPECT_OK(aclrtSetOpExecuteTimeOutV2(0, &actual));
  EXPECT_EQ(actual, UINT64_MAX) << "page 1986: so where no operator is ever stopped";
}

TEST_F(EventWait, OpWaitTimeoutEndsWithAclFinalize) {
  EXPECT_OK(aclrtSetOpWaitTimeout(1));
  EXPECT_OK(aclFinalize());
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclrtSetDevice(0));
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  EXPECT_OK(aclrtStreamWaitEvent(stream, event));
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(stream, 1200),
                 "unfinished");
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
}

}  // namespace
