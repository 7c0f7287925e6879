// Beginning and ending a capture: what is refused, and what is left afterwards.
#include "captures.h"

namespace {

using namespace conformance;

class CaptureBeginEnd : public Captures {};

TEST_F(CaptureBeginEnd, TasksAreKeptAndRunOnlyInTheModel) {
  int32_t* from = NewDevice(1);
  int32_t* to = NewDevice();
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(to, from, main_));
  aclmdlRI model = End();
  EXPECT_OK(aclrtSynchronizeStream(main_));
  EXPECT_EQ(*to, 0) << "nothing ran yet";
  EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
  EXPECT_OK(aclrtSynchronizeStream(main_));
  EXPECT_EQ(*to, 1);
  EXPECT_OK(aclmdlRIDestroy(model));
}

TEST_F(CaptureBeginEnd, TasksIssuedBeforeRunAtOnce) {
  int32_t* from = NewDevice(1);
  int32_t* to = NewDevice();
  EXPECT_OK(Copy(to, from, main_));
  EXPECT_OK(Begin());
  while (Peek(to) == 0) {
  }
  End();
}

TEST_F(CaptureBeginEnd, AnEmptyCaptureIsAModel) {
  EXPECT_OK(Begin());
  aclmdlRI model = End();
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_OK(aclmdlRIExecute(model, -1));
  EXPECT_OK(aclmdlRIDestroy(model));
}

TEST_F(CaptureBeginEnd, ReadsItsBuffersAtReplay) {
  int32_t* from = NewPinned(1);
  int32_t* to = NewDevice();
  aclmdlRI model = CopyModel(to, from);
  for (int32_t value : {5, 6, 7}) {
    *from = value;
    EXPECT_OK(RunOnce(model, main_));
    EXPECT_EQ(*to, value);
  }
}

TEST_F(CaptureBeginEnd, TheDefaultStreamCannotBegin) {
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRICaptureBegin(nullptr, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
                 "default stream.*aclrtCreateStream");
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
}

TEST_F(CaptureBeginEnd, AnUnknownModeIsRefused) {
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRICaptureBegin(main_, static_cast<aclmdlRICaptureMode>(3)),
                 "mode = 3.*RELAXED");
  aclmdlRICaptureMode mode = static_cast<aclmdlRICaptureMode>(-1);
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRICaptureThreadExchangeMode(&mode), "mode = -1");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclmdlRICaptureThreadExchangeMode(nullptr), "mode is null");
  ExpectWorks({main_});
}

TEST_F(CaptureBeginEnd, ACapturedStreamCannotBeginAgain) {
  EXPECT_OK(Begin());
  Link(main_, side_);
  EXPECT_REFUSED(kWrongMode, aclmdlRICaptureBegin(main_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), "already");
  EXPECT_REFUSED(kWrongMode, aclmdlRICaptureBegin(side_, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), "already");
  Link(side_, main_);
  EXPECT_OK(aclmdlRIDestroy(End()));
}

TEST_F(CaptureBeginEnd, AStreamOfAnotherContextIsRefused) {
  aclrtStream foreign = StreamOf(OtherContext(0));
  aclmdlRI model;
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclmdlRICaptureBegin(foreign, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
                 "another context");
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclmdlRICaptureEnd(foreign, &model), "another context");
}

TEST_F(CaptureBeginEnd, EndNeedsABegin) {
  aclmdlRI model = reinterpret_cast<aclmdlRI>(1);
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRICaptureEnd(main_, &model), "aclmdlRICaptureBegin first");
  EXPECT_EQ(model, nullptr);
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclmdlRICaptureEnd(main_, nullptr), "modelRI is null");
}

TEST_F(CaptureBeginEnd, EndWantsTheMainStream) {
  EXPECT_OK(Begin());
  Link(main_, side_);
  aclmdlRI model;
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRICaptureEnd(side_, &model), "end it on stream");
  Link(side_, main_);
  EXPECT_OK(aclmdlRIDestroy(End())) << "the mistake spoils nothing";
}

TEST_F(CaptureBeginEnd, EndWantsTheThreadThatBegan) {
  aclrtContext context = CurrentContext();
  for (auto mode : {ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL}) {
    EXPECT_OK(Begin(mode));
    InThread([&] {
      aclmdlRI model;
      EXPECT_OK(aclrtSetCurrentContext(context));
      EXPECT_REFUSED(kWrongMode, aclmdlRICaptureEnd(main_, &model), "begun by another thread.*RELAXED");
    });
    EXPECT_OK(aclmdlRIDestroy(End())) << "the mistake spoils nothing";
  }
  EXPECT_OK(Begin(ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
  InThread([&] {
    aclmdlRI model;
    EXPECT_OK(aclrtSetCurrentContext(context));
    EXPECT_OK(aclmdlRICaptureEnd(main_, &model));
    EXPECT_OK(aclmdlRIDestroy(model));
  });
  ExpectWorks({main_});
}

TEST_F(CaptureBeginEnd, GetInfoTellsStateAndModel) {
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
  aclmdlRI model = nullptr, ended;
  EXPECT_OK(aclmdlRICaptureGetInfo(main_, &status, &model));
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_OK(Begin());
  Link(main_, side_);
  for (aclrtStream stream : {main_, side_}) {
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &model));
    EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  }
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIExecuteAsync(model, nullptr), "still being captured");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIDestroy(model), "aclmdlRICaptureEnd first");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIDebugPrint(model), "still being captured");
  Link(side_, main_);
  ended = End();
  EXPECT_EQ(ended, model) << "the same instance";
  EXPECT_OK(aclmdlRICaptureGetInfo(side_, &status, &model));
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_OK(aclmdlRICaptureGetInfo(nullptr, &status, &model));
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclmdlRICaptureGetInfo(main_, nullptr, &model), "status is null");
}

// --- what End refuses

TEST_F(CaptureBeginEnd, AStreamThatDidNotComeBack) {
  EXPECT_OK(Begin());
  Link(main_, side_);
  EXPECT_OK(Copy(NewDevice(), NewDevice(), side_));
  aclmdlRI model;
  EXPECT_REFUSED(kNotJoined, aclmdlRICaptureEnd(main_, &model),
                 "never returned to.*submitted by aclrt.*aclrtRecordEvent.*aclrtStreamWaitEvent");
  EXPECT_EQ(model, nullptr);
  ExpectWorks({main_, side_});
}

TEST_F(CaptureBeginEnd, AJoinedStreamWithoutTasksMustComeBackToo) {
  EXPECT_OK(Begin());
  Link(main_, side_);
  aclmdlRI model;
  EXPECT_REFUSED(kNotJoined, aclmdlRICaptureEnd(main_, &model), "event wait.*aclrtStreamWaitEvent");
  ExpectWorks({main_, side_});
}

TEST_F(CaptureBeginEnd, ATaskAfterTheReturn) {
  EXPECT_OK(Begin());
  Link(main_, side_);
  EXPECT_OK(Copy(NewDevice(), NewDevice(), side_));
  Link(side_, main_);
  EXPECT_OK(aclrtMemsetAsync(NewDevice(), 4, 0, 4, side_));
  aclmdlRI model;
  EXPECT_REFUSED(kNotJoined, aclmdlRICaptureEnd(main_, &model),
                 "given work after it had returned.*submitted by aclrtMemsetAsync");
  ExpectWorks({main_, side_});
}

TEST_F(CaptureBeginEnd, ASpoiledOneSaysWhatSpoiledIt) {
  int32_t* number = NewDevice();
  EXPECT_OK(Begin());
  Link(main_, side_);
  EXPECT_OK(Copy(number, NewDevice(), side_));
  EXPECT_REFUSED(kQueried, aclrtSynchronizeStream(side_), "end the capture first");
  EXPECT_EQ(StatusOf(main_), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(StatusOf(side_), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  EXPECT_REFUSED(kInvalidated, aclrtMemsetAsync(number, 4, 0, 4, main_), "aclmdlRICaptureEnd");
  EXPECT_REFUSED(kInvalidated, aclrtRecordEvent(NewEvent(), main_), "aclmdlRICaptureEnd");
  aclmdlRI model;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &model),
                 "aclrtSynchronizeStream, after 3 captured tasks");
  EXPECT_EQ(model, nullptr);
  ExpectWorks({main_, side_});
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(number, NewDevice(3), main_));
  EXPECT_OK(RunOnce(End(), main_));
  EXPECT_EQ(*number, 3) << "the stream can be captured again";
}

}  // namespace
