// Records inside a model that streams and hosts outside wait for.
#include "captures.h"

namespace {

using namespace conformance;

class ExternalRecords : public Captures {
 protected:
  void SetUp() override {
    Captures::SetUp();
    event_ = NewExEvent(ACL_EVENT_SYNC);
    void* gate = nullptr;
    EXPECT_OK(aclrtMalloc(&gate, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    gate_ = static_cast<uint64_t*>(gate);
    *gate_ = 0;
    from_ = NewDevice(1);
    middle_ = NewDevice();
    to_ = NewDevice();
  }
  // middle = from, record, and then a wait until the gate is 1 (which closes it again).
  aclmdlRI GatedModel() {
    EXPECT_OK(Begin());
    EXPECT_OK(Copy(middle_, from_, main_));
    EXPECT_OK(aclrtRecordEventWithFlag(event_, main_, ACL_EVENT_RECORD_EXTERNAL));
    EXPECT_OK(aclrtValueWait(gate_, 1, 1, main_));
    EXPECT_OK(aclrtValueWrite(gate_, 0, 0, main_));
    return End();
  }
  void OpenGate(aclrtStream stream) { EXPECT_OK(aclrtValueWrite(gate_, 1, 0, stream)); }
  aclrtEventRecordedStatus Status() {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    EXPECT_OK(aclrtQueryEventStatus(event_, &status));
    return status;
  }

  aclrtEvent event_ = nullptr;
  uint64_t* gate_ = nullptr;
  int32_t *from_ = nullptr, *middle_ = nullptr, *to_ = nullptr;
};

// The waiting stream goes on in the middle of the replay, and lets it go on in turn.
TEST_F(ExternalRecords, AnotherStreamWaitsForTheMiddleOfAReplay) {
  aclmdlRI model = GatedModel();
  for (int32_t value : {5, 6, 7}) {
    *from_ = value;
    EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
    EXPECT_OK(aclrtStreamWaitEvent(side_, event_));
    EXPECT_OK(Copy(to_, middle_, side_));
    OpenGate(side_);
    EXPECT_OK(aclrtSynchronizeStream(main_));
    EXPECT_OK(aclrtSynchronizeStream(side_));
    EXPECT_EQ(*to_, value);
  }
}

TEST_F(ExternalRecords, AWaitIsForTheLatestLaunch) {
  aclmdlRI model = GatedModel();
  Hold hold(main_);
  EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
  EXPECT_OK(aclrtStreamWaitEvent(side_, event_));
  aclrtStream third = NewStream();
  EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
  EXPECT_OK(aclrtStreamWaitEvent(third, event_));
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(side_));
  EXPECT_FALSE(Idle(third)) << "the second replay waits for the first, which waits for the gate";
  EXPECT_EQ(Status(), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  OpenGate(side_);
  EXPECT_OK(aclrtSynchronizeStream(third));
  EXPECT_EQ(Status(), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  OpenGate(side_);
  EXPECT_OK(aclrtSynchronizeStream(main_));
}

TEST_F(ExternalRecords, TheHostWaitsForTheMiddleOfAReplay) {
  aclmdlRI model = GatedModel();
  EXPECT_EQ(Status(), ACL_EVENT_RECORDED_STATUS_COMPLETE) << "an Ex event that was never recorded";
  {
    Hold hold(main_);
    EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
    EXPECT_EQ(Status(), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    EXPECT_REFUSED(507047, aclrtSynchronizeEventWithTimeout(event_, 5), "time limit");
  }
  EXPECT_OK(aclrtSynchronizeEvent(event_));
  EXPECT_EQ(Peek(middle_), 1);
  EXPECT_FALSE(Idle(main_)) << "the replay still waits for the gate";
  OpenGate(side_);
  EXPECT_OK(aclrtSynchronizeStream(main_));
}

TEST_F(ExternalRecords, AWaitBeforeAnyLaunchPasses) {
  GatedModel();
  EXPECT_OK(aclrtStreamWaitEvent(side_, event_));
  EXPECT_OK(aclrtSynchronizeStream(side_));
}

TEST_F(ExternalRecords, AReplayThatIsDroppedLetsTheWaitersGo) {
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(middle_, from_, main_));
  EXPECT_OK(aclrtValueWait(gate_, 1, 1, main_));
  EXPECT_OK(aclrtRecordEventWithFlag(event_, main_, ACL_EVENT_RECORD_EXTERNAL));
  aclmdlRI model = End();
  EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
  EXPECT_OK(aclrtStreamWaitEvent(side_, event_));
  EXPECT_OK(aclrtStreamAbort(main_));
  EXPECT_OK(aclrtSynchronizeStream(side_));
  EXPECT_EQ(Status(), ACL_EVENT_RECORDED_STATUS_COMPLETE);
}

TEST_F(ExternalRecords, ALaterOrdinaryRecordCounts) {
  aclmdlRI model = GatedModel();
  EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
  EXPECT_OK(aclrtRecordEvent(event_, side_));
  EXPECT_OK(aclrtSynchronizeEvent(event_));
  OpenGate(side_);
  EXPECT_OK(aclrtSynchronizeStream(main_));
}

TEST_F(ExternalRecords, TheEventMayGoBeforeTheModel) {
  aclmdlRI model = GatedModel();
  EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
  EXPECT_OK(aclrtStreamWaitEvent(side_, event_));
  EXPECT_OK(aclrtDestroyEvent(event_));
  aclrtEvent next = NewExEvent(ACL_EVENT_SYNC);
  OpenGate(side_);
  EXPECT_OK(aclrtSynchronizeStream(main_));
  EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_OK(aclrtQueryEventStatus(next, &status));
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE) << "another event may have its place";
  OpenGate(side_);
  EXPECT_OK(aclrtSynchronizeStream(main_));
}

TEST_F(ExternalRecords, AStreamOfTheSameCaptureCannotWaitForIt) {
  EXPECT_OK(Begin());
  EXPECT_OK(aclrtRecordEventWithFlag(event_, main_, ACL_EVENT_RECORD_EXTERNAL));
  EXPECT_REFUSED(kWrongMode, aclrtStreamWaitEvent(main_, event_), "outside of that capture");
  aclmdlRI model = nullptr;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &model), "");
}

TEST_F(ExternalRecords, OnlyExEventsWithSyncAlone) {
  EXPECT_OK(Begin());
  for (aclrtEvent event :
       {NewEvent(), NewEvent(ACL_EVENT_SYNC), NewExEvent(ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE),
        NewExEvent(ACL_EVENT_TIME_LINE)}) {
    EXPECT_REFUSED(kBadState, aclrtRecordEventWithFlag(event, main_, ACL_EVENT_RECORD_EXTERNAL),
                   "aclrtCreateEventExWithFlag");
  }
  EXPECT_REFUSED(kBadState, aclrtRecordEventWithFlag(event_, main_, 2), "flag = 2");
  End();
}

TEST_F(ExternalRecords, OnlyInsideACapture) {
  EXPECT_REFUSED(kBadState, aclrtRecordEventWithFlag(event_, main_, ACL_EVENT_RECORD_EXTERNAL),
                 "not being captured");
  EXPECT_REFUSED(kBadState, aclrtRecordEventWithFlag(event_, nullptr, ACL_EVENT_RECORD_EXTERNAL),
                 "not being captured");
}

TEST_F(ExternalRecords, NotAfterAnOrdinaryRecord) {
  EXPECT_OK(aclrtRecordEvent(event_, main_));
  EXPECT_OK(Begin());
  EXPECT_REFUSED(kBadState, aclrtRecordEventWithFlag(event_, main_, ACL_EVENT_RECORD_EXTERNAL),
                 "recorded.*before");
  End();
}

TEST_F(ExternalRecords, IsARecordAmongTheModelsTasks) {
  aclmdlRI model = GatedModel();
  uint32_t count = 1;
  aclrtStream stream = nullptr;
  EXPECT_OK(aclmdlRIGetStreams(model, &stream, &count));
  aclmdlRITask tasks[4] = {};
  count = 4;
  EXPECT_OK(aclmdlRIGetTasksByStream(stream, tasks, &count));
  aclmdlRITaskType type = ACL_MODEL_RI_TASK_DEFAULT;
  EXPECT_OK(aclmdlRITaskGetType(tasks[1], &type));
  EXPECT_EQ(type, ACL_MODEL_RI_TASK_EVENT_RECORD);
}

}  // namespace
