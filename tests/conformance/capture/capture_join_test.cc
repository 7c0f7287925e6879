// How streams come into a capture and back.
#include "captures.h"

namespace {

using namespace conformance;

class CaptureJoin : public Captures {
 protected:
  // The capture is spoiled by now: End says so, and both streams work afterwards.
  void ExpectSpoiled(const char *words) {
    aclmdlRI model;
    EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &model), words);
    ExpectWorks({main_, side_});
  }
};

TEST_F(CaptureJoin, AStreamJoinsByWaitingForAnEventOfTheCapture) {
  int32_t *a = NewDevice(4), *b = NewDevice(), *c = NewDevice();
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(b, a, main_));
  Link(main_, side_);
  EXPECT_EQ(StatusOf(side_), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  EXPECT_OK(Copy(c, b, side_));
  Link(side_, main_);
  EXPECT_OK(RunOnce(End(), main_));
  EXPECT_EQ(*c, 4);
  ExpectWorks({main_, side_});
}

TEST_F(CaptureJoin, IsTransitiveAndReturnsThroughOthers) {
  aclrtStream third = NewStream();
  int32_t *a = NewDevice(4), *b = NewDevice(), *c = NewDevice(), *d = NewDevice(), *e = NewDevice();
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(b, a, main_));
  Link(main_, side_);
  EXPECT_OK(Copy(c, b, side_));
  Link(side_, third);
  EXPECT_OK(Copy(d, c, third));
  Link(third, side_);
  Link(side_, main_);
  EXPECT_OK(Copy(e, d, main_));
  EXPECT_OK(RunOnce(End(), main_));
  EXPECT_EQ(*e, 4);
  ExpectWorks({main_, side_, third});
}

TEST_F(CaptureJoin, AStreamMayJoinAgainAfterItsReturn) {
  int32_t *a = NewDevice(4), *b = NewDevice(), *c = NewDevice(), *d = NewDevice();
  EXPECT_OK(Begin());
  Link(main_, side_);
  EXPECT_OK(Copy(b, a, side_));
  Link(side_, main_);
  EXPECT_OK(Copy(c, b, main_));
  Link(main_, side_);
  EXPECT_OK(Copy(d, c, side_));
  Link(side_, main_);
  EXPECT_OK(RunOnce(End(), main_));
  EXPECT_EQ(*d, 4);
}

TEST_F(CaptureJoin, OneEventServesAgainAndAgain) {
  int32_t *a = NewDevice(4), *b = NewDevice(), *c = NewDevice();
  aclrtEvent event = NewEvent();
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(b, a, main_));
  EXPECT_OK(aclrtRecordEvent(event, main_));
  EXPECT_OK(aclrtStreamWaitEvent(side_, event));
  EXPECT_OK(aclrtResetEvent(event, side_));
  EXPECT_OK(Copy(c, b, side_));
  EXPECT_OK(aclrtRecordEvent(event, side_));
  EXPECT_OK(aclrtStreamWaitEvent(main_, event));
  EXPECT_OK(aclrtResetEvent(event, main_));
  aclmdlRI model = End();
  for (int i = 1; i <= 3; ++i) {
    *a = i;
    EXPECT_OK(RunOnce(model, main_));
    EXPECT_EQ(*c, i);
  }
}

TEST_F(CaptureJoin, WaitsWithALimitJoinToo) {
  aclrtEvent out = NewEvent(), back = NewEvent();
  EXPECT_OK(Begin());
  EXPECT_OK(aclrtRecordEvent(out, main_));
  EXPECT_OK(aclrtStreamWaitEventWithTimeout(side_, out, 1));
  EXPECT_OK(aclrtRecordEvent(back, side_));
  EXPECT_OK(aclrtStreamWaitEventWithTimeout(main_, back, 1));
  EXPECT_OK(RunOnce(End(), main_));
}

TEST_F(CaptureJoin, TasksQueuedOnAJoiningStreamBeforeRunAtOnce) {
  int32_t *a = NewDevice(4), *b = NewDevice(), *c = NewDevice();
  Hold hold(side_);
  EXPECT_OK(Copy(b, a, side_));
  EXPECT_OK(Begin());
  Link(main_, side_);
  EXPECT_OK(Copy(c, a, side_));
  Link(side_, main_);
  aclmdlRI model = End();
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(side_));
  EXPECT_EQ(*b, 4);
  EXPECT_EQ(*c, 0);
  EXPECT_OK(aclmdlRIDestroy(model));
}

// --- joins that are refused

TEST_F(CaptureJoin, TheNullStreamCannotJoin) {
  aclrtEvent event = NewEvent();
  EXPECT_OK(Begin());
  EXPECT_OK(aclrtRecordEvent(event, main_));
  EXPECT_REFUSED(kWrongMode, aclrtStreamWaitEvent(nullptr, event), "default stream.*aclrtCreateStream");
  ExpectSpoiled("aclrtStreamWaitEvent");
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
}

TEST_F(CaptureJoin, AStreamOfAnotherContextCannotJoin) {
  aclrtContext here = CurrentContext();
  aclrtEvent event = NewEvent();
  for (int device : {0, 1}) {
    aclrtContext there = OtherContext(device);
    aclrtStream foreign = StreamOf(there);
    EXPECT_OK(Begin());
    EXPECT_OK(aclrtRecordEvent(event, main_));
    EXPECT_OK(aclrtSetCurrentContext(there));
    EXPECT_REFUSED(kWrongMode, aclrtStreamWaitEvent(foreign, event), "of another context.*same context");
    EXPECT_OK(aclrtSynchronizeStream(foreign));
    EXPECT_OK(aclrtSetCurrentContext(here));
    ExpectSpoiled("join");
  }
}

TEST_F(CaptureJoin, TwoCapturesThatMeetAreBothSpoiled) {
  aclrtEvent event = NewEvent();
  EXPECT_OK(Begin());
  EXPECT_OK(aclmdlRICaptureBegin(side_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(aclrtRecordEvent(event, main_));
  EXPECT_REFUSED(kWrongMode, aclrtStreamWaitEvent(side_, event), "another capture");
  aclmdlRI model;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(side_, &model), "another capture");
  ExpectSpoiled("join");
}

TEST_F(CaptureJoin, ARecordMadeBeforeBeginIsNoPartOfTheGraph) {
  for (uint32_t flag : {ACL_EVENT_SYNC}) {
    aclrtEvent event = NewEvent(flag);
    EXPECT_OK(aclrtRecordEvent(event, main_));
    EXPECT_OK(Begin());
    EXPECT_REFUSED(kWrongMode, aclrtStreamWaitEvent(main_, event),
                   "recorded outside.*record the event on a stream");
    ExpectSpoiled("outside of the capture");
  }
}

TEST_F(CaptureJoin, AnEventNeverRecordedIsNoPartOfTheGraph) {
  EXPECT_OK(Begin());
  EXPECT_REFUSED(kWrongMode, aclrtStreamWaitEvent(main_, NewEvent()), "never recorded");
  ExpectSpoiled("outside of the capture");
  EXPECT_OK(Begin());
  EXPECT_REFUSED(kWrongMode, aclrtStreamWaitEvent(main_, NewExEvent(ACL_EVENT_SYNC)), "never recorded");
  ExpectSpoiled("outside of the capture");
}

TEST_F(CaptureJoin, IpcEventsStayOutside) {
  EXPECT_OK(Begin());
  EXPECT_REFUSED(kWrongMode, aclrtRecordEvent(NewExEvent(ACL_EVENT_IPC), main_), "ACL_EVENT_IPC");
  ExpectSpoiled("ACL_EVENT_IPC");
}

// --- a captured event outside

TEST_F(CaptureJoin, ACapturedEventIsNotAskedDuringTheCapture) {
  struct Question {
    const char *name;
    std::function<aclError(aclrtEvent)> ask;
  };
  aclrtEventStatus status;
  aclrtEventRecordedStatus recorded;
  aclrtEventWaitStatus waited;
  float ms;
  uint64_t time;
  const Question questions[] = {
      {"aclrtSynchronizeEvent", [](aclrtEvent e) { return aclrtSynchronizeEvent(e); }},
      {"aclrtSynchronizeEventWithTimeout",
       [](aclrtEvent e) { return aclrtSynchronizeEventWithTimeout(e, 5); }},
      {"aclrtQueryEvent", [&](aclrtEvent e) { return aclrtQueryEvent(e, &status); }},
      {"aclrtQueryEventStatus", [&](aclrtEvent e) { return aclrtQueryEventStatus(e, &recorded); }},
      {"aclrtQueryEventWaitStatus", [&](aclrtEvent e) { return aclrtQueryEventWaitStatus(e, &waited); }},
      {"aclrtEventElapsedTime", [&](aclrtEvent e) { return aclrtEventElapsedTime(&ms, e, e); }},
      {"aclrtEventGetTimestamp", [&](aclrtEvent e) { return aclrtEventGetTimestamp(e, &time); }},
  };
  for (const Question &question : questions) {
    SCOPED_TRACE(question.name);
    aclrtEvent event = NewEvent();
    EXPECT_OK(aclrtRecordEvent(event, main_)) << "its time is not what is asked for";
    EXPECT_OK(aclrtSynchronizeStream(main_));
    EXPECT_OK(Begin(ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtRecordEvent(event, main_));
    EXPECT_EQ(question.ask(event), kQueried);
    EXPECT_THAT(TakeMessage(), testing::HasSubstr(question.name));
    ExpectSpoiled(question.name);
  }
}

TEST_F(CaptureJoin, ACapturedEventHasNoRecordOutside) {
  aclrtEvent event = NewEvent();
  EXPECT_OK(Begin());
  EXPECT_OK(aclrtRecordEvent(event, main_));
  aclmdlRI model = End();
  EXPECT_OK(RunOnce(model, main_));
  aclrtEventRecordedStatus recorded;
  EXPECT_REFUSED(kQueried, aclrtStreamWaitEvent(side_, event), "capture that has ended.*record it again");
  EXPECT_REFUSED(kQueried, aclrtSynchronizeEvent(event), "recorded in a capture");
  EXPECT_REFUSED(kQueried, aclrtQueryEventStatus(event, &recorded), "recorded in a capture");
  EXPECT_OK(aclrtRecordEvent(event, main_)) << "recorded again it is an ordinary event";
  EXPECT_OK(aclrtStreamWaitEvent(side_, event));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  ExpectWorks({main_, side_});
}

}  // namespace
