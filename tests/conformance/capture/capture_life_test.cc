// What dies before a capture or a replay is over, and the names and callbacks of instances.
#include "captures.h"

namespace {

using namespace conformance;

class CaptureLife : public Captures {};

TEST_F(CaptureLife, TheMainStreamDies) {
  EXPECT_OK(Begin());
  Link(main_, side_);
  EXPECT_OK(Copy(NewDevice(), NewDevice(), side_));
  EXPECT_OK(aclrtDestroyStream(main_));
  aclmdlRI model;
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureEnd(main_, &model), "destroyed");
  ExpectWorks({side_});
  EXPECT_OK(aclrtMemset(NewDevice(), 4, 0, 4)) << "no capture is under way";
}

TEST_F(CaptureLife, AJoinedStreamDies) {
  EXPECT_OK(Begin());
  Link(main_, side_);
  EXPECT_OK(aclrtDestroyStream(side_));
  EXPECT_EQ(StatusOf(main_), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  aclmdlRI model;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &model),
                 "destruction of a stream.*aclrtDestroyStream");
  ExpectWorks({main_});
}

TEST_F(CaptureLife, AJoinedStreamIsForcedAway) {
  EXPECT_OK(Begin());
  Link(main_, side_);
  EXPECT_OK(aclrtDestroyStreamForce(side_));
  aclmdlRI model;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &model), "aclrtDestroyStreamForce");
  ExpectWorks({main_});
}

TEST_F(CaptureLife, AnEventDies) {
  aclrtEvent event = NewEvent();
  int32_t *a = NewDevice(4), *b = NewDevice();
  EXPECT_OK(Begin());
  EXPECT_OK(aclrtRecordEvent(event, main_));
  EXPECT_OK(aclrtStreamWaitEvent(side_, event));
  EXPECT_OK(aclrtDestroyEvent(event));
  EXPECT_OK(Copy(b, a, side_));
  Link(side_, main_);
  aclmdlRI model = End();
  EXPECT_OK(RunOnce(model, main_)) << "the edge is in the graph already";
  EXPECT_EQ(*b, 4);
}

TEST_F(CaptureLife, TheContextDies) {
  aclrtContext here = CurrentContext();
  aclrtContext context = nullptr;
  EXPECT_OK(aclrtCreateContext(&context, 0));
  aclrtStream stream = NewStream();
  EXPECT_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(aclrtDestroyContext(context));
  EXPECT_OK(aclrtSetCurrentContext(here));
  aclmdlRI model;
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureEnd(stream, &model), "destroyed");
  EXPECT_OK(aclrtMemset(NewDevice(), 4, 0, 4)) << "no capture is under way";
  ExpectWorks({main_, side_});
}

TEST_F(CaptureLife, TheDeviceIsReset) {
  EXPECT_OK(Begin());
  EXPECT_OK(aclrtResetDevice(0));
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtMemset(NewDevice(), 4, 0, 4));
  aclmdlRI model;
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureEnd(main_, &model), "destroyed");
}

TEST_F(CaptureLife, TheThreadDies) {
  aclrtContext context = CurrentContext();
  InThread([&] {
    EXPECT_OK(aclrtSetCurrentContext(context));
    EXPECT_OK(Begin(ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  });
  EXPECT_EQ(StatusOf(main_), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  aclmdlRI model;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &model), "end of the thread that began it");
  ExpectWorks({main_});
}

TEST_F(CaptureLife, ARelaxedCaptureOutlivesItsThread) {
  aclrtContext context = CurrentContext();
  InThread([&] {
    EXPECT_OK(aclrtSetCurrentContext(context));
    EXPECT_OK(Begin(ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
  });
  int32_t *a = NewDevice(4), *b = NewDevice();
  EXPECT_OK(Copy(b, a, main_));
  EXPECT_OK(RunOnce(End(), main_));
  EXPECT_EQ(*b, 4);
}

TEST_F(CaptureLife, EndedByAclFinalize) {
  EXPECT_OK(Begin());
  EXPECT_OK(aclFinalize());
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtMemset(NewDevice(), 4, 0, 4)) << "no capture is under way";
}

// --- instances

TEST_F(CaptureLife, AnInstanceDestroyedWhileQueuedRunsAllTheSame) {
  int32_t *a = NewDevice(4), *b = NewDevice();
  aclmdlRI model = CopyModel(b, a);
  Hold hold(main_);
  EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
  EXPECT_OK(aclmdlRIDestroy(model));
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIExecuteAsync(model, main_), "destroyed");
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIDestroy(model), "destroyed");
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(main_));
  EXPECT_EQ(*b, 4);
}

TEST_F(CaptureLife, TheCapturedStreamsMayGoBeforeTheModel) {
  int32_t *a = NewDevice(4), *b = NewDevice(), *c = NewDevice();
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(b, a, main_));
  Link(main_, side_);
  EXPECT_OK(Copy(c, b, side_));
  Link(side_, main_);
  aclmdlRI model = End();
  EXPECT_OK(aclrtDestroyStream(side_));
  EXPECT_OK(aclrtDestroyStream(main_));
  EXPECT_OK(RunOnce(model, nullptr));
  EXPECT_EQ(*c, 4);
}

TEST_F(CaptureLife, FreedMemoryIsAnErrorThatNamesTheBlock) {
  int32_t *a = NewDevice(4), *b = NewDevice();
  aclmdlRI model = CopyModel(b, a);
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_OK(aclrtFree(a));
  char block[32];
  snprintf(block, sizeof block, "%p.*aclrtMemcpyAsync", static_cast<void *>(a));
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIExecuteAsync(model, main_), block);
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIExecute(model, -1), "keep it until aclmdlRIDestroy");
  EXPECT_OK(aclmdlRIDestroy(model));
}

// ggml frees the tensors of a graph that it has captured, gets the same addresses again, and replays.
TEST_F(CaptureLife, MemoryThatIsAllocatedAgainWhereItWasIsUsed) {
  int32_t *a = NewDevice(4), *b = NewDevice();
  aclmdlRI model = CopyModel(b, a);
  EXPECT_OK(aclrtFree(a));
  std::vector<int32_t *> others;
  int32_t *again = NewDevice(5);
  for (; again != a && others.size() < 1000; again = NewDevice(5)) others.push_back(again);
  ASSERT_EQ(again, a) << "the address did not come back";
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_EQ(*b, 5);
  for (int32_t *other : others) EXPECT_OK(aclrtFree(other));
  EXPECT_OK(aclmdlRIDestroy(model));
}

TEST_F(CaptureLife, FreeingOtherMemoryDoesNotMatter) {
  aclmdlRI model = CopyModel(NewDevice(), NewDevice());
  EXPECT_OK(aclrtFree(NewDevice()));
  EXPECT_OK(RunOnce(model, main_));
}

TEST_F(CaptureLife, NumbersAndNames) {
  aclmdlRI one = CopyModel(NewDevice(), NewDevice()), two = CopyModel(NewDevice(), NewDevice());
  uint32_t first = 0, second = 0;
  EXPECT_OK(aclmdlRIGetId(one, &first));
  EXPECT_OK(aclmdlRIGetId(two, &second));
  EXPECT_NE(first, second);
  char name[1024] = "x";
  EXPECT_OK(aclmdlRIGetName(one, sizeof name, name));
  EXPECT_STREQ(name, "") << "none was set";
  EXPECT_OK(aclmdlRISetName(one, "first"));
  EXPECT_OK(aclmdlRISetName(one, "decoder"));
  EXPECT_OK(aclmdlRIGetName(one, sizeof name, name));
  EXPECT_STREQ(name, "decoder") << "the last one counts";
  EXPECT_OK(aclmdlRIGetName(one, 4, name));
  EXPECT_STREQ(name, "dec");
  EXPECT_OK(aclmdlRISetName(one, std::string(900, 'n').c_str()));
  EXPECT_OK(aclmdlRIGetName(one, sizeof name, name));
  EXPECT_LE(strlen(name), 512u);
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIGetName(one, 0, name), "maxLen is 0");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclmdlRISetName(one, nullptr), "name is null");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclmdlRIGetId(one, nullptr), "modelRIId is null");
}

TEST_F(CaptureLife, CallbacksWhenAnInstanceGoes) {
  auto add = [](void *sum) { *static_cast<int *>(sum) += 1; };
  auto other = [](void *sum) { *static_cast<int *>(sum) += 100; };
  int sum = 0;
  aclmdlRI model = CopyModel(NewDevice(), NewDevice());
  EXPECT_OK(aclmdlRIDestroyRegisterCallback(model, add, &sum));
  EXPECT_OK(aclmdlRIDestroyRegisterCallback(model, other, &sum));
  EXPECT_OK(aclmdlRIDestroyUnregisterCallback(model, other));
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIDestroyUnregisterCallback(model, other),
                 "not registered");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclmdlRIDestroyRegisterCallback(model, nullptr, &sum),
                 "func is null");
  EXPECT_EQ(sum, 0);
  EXPECT_OK(aclmdlRIDestroy(model));
  EXPECT_EQ(sum, 1);
}

TEST_F(CaptureLife, ACallbackOfAnInstanceThatGoesWithItsLastReplayIsACallback) {
  aclrtEvent go = NewEvent();
  aclmdlRI model = CopyModel(NewDevice(), NewDevice());
  struct Seen {
    aclrtStream stream;
    aclrtContext context;
    aclError code;
    std::string message;
  } seen{main_, CurrentContext(), 0, ""};
  auto wait = [](void *data) {
    auto *s = static_cast<Seen *>(data);
    aclrtSetCurrentContext(s->context);
    s->code = aclrtSynchronizeStream(s->stream);
    s->message = TakeMessage();
  };
  EXPECT_OK(aclmdlRIDestroyRegisterCallback(model, wait, &seen));
  EXPECT_OK(aclrtStreamWaitEvent(main_, go));
  EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
  EXPECT_OK(aclmdlRIDestroy(model));
  EXPECT_OK(aclrtRecordEvent(go, side_));
  EXPECT_OK(aclrtSynchronizeStream(main_));
  EXPECT_EQ(seen.code, ACL_ERROR_INVALID_PARAM) << "it would wait for the task that is about to end";
  EXPECT_THAT(seen.message, testing::HasSubstr("inside a callback"));
}

}  // namespace
