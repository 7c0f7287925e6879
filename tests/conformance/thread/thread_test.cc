// Which device, context and errors a thread has.
#include "fixture.h"

namespace {

using namespace conformance;

class Thread : public Started {};

TEST_F(Thread, HasNoContextUntilItSetsOne) {
  InThread([] {
    int32_t device;
    aclrtContext context;
    aclrtStream stream;
    aclrtStreamStatus status;
    EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtGetDevice(&device),
                   "aclrtSetDevice or aclrtSetCurrentContext");
    EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtGetCurrentContext(&context), "no context");
    EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtCreateStream(&stream), "no context");
    EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtSynchronizeStream(nullptr), "no context");
    EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtStreamQuery(nullptr, &status), "no context");
    EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtSynchronizeDevice(), "no context");
    void* memory = nullptr;
    EXPECT_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST)) << "memory of device 0";
    EXPECT_OK(aclrtFree(memory));
  });
}

TEST_F(Thread, AllThatSetADeviceShareItsDefaultContext) {
  aclrtContext mine = CurrentContext();
  aclrtStream stream = NewStream();
  InThread([&] {
    EXPECT_OK(aclrtSetDevice(0));
    EXPECT_EQ(CurrentContext(), mine);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
  });
  EXPECT_OK(aclrtSynchronizeStream(stream)) << "counted: one user is left";
}

TEST_F(Thread, TheLastCallDecidesTheContext) {
  aclrtContext first = CurrentContext(), second = nullptr;
  EXPECT_OK(aclrtCreateContext(&second, 1));
  int32_t device = -1;
  EXPECT_EQ(CurrentContext(), second) << "a new context is current";
  EXPECT_OK(aclrtGetDevice(&device));
  EXPECT_EQ(device, 1);
  EXPECT_OK(aclrtSetCurrentContext(first));
  EXPECT_OK(aclrtGetDevice(&device));
  EXPECT_EQ(device, 0);
  EXPECT_OK(aclrtSetCurrentContext(second));
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_EQ(CurrentContext(), first);
}

TEST_F(Thread, ADestroyedContextIsNobodysContext) {
  aclrtContext context = nullptr;
  EXPECT_OK(aclrtCreateContext(&context, 0));
  EXPECT_OK(aclrtDestroyContext(context));
  aclrtStream stream;
  EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtCreateStream(&stream), "no live context.*aclrtSetDevice");
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclrtSetCurrentContext(context), "destroyed");
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyContext(context), "destroyed");
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtCreateStream(&stream));
}

TEST_F(Thread, ADefaultContextOrStreamIsNotDestroyed) {
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclrtDestroyContext(CurrentContext()),
                 "default context.*aclrtResetDevice");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclrtDestroyStream(nullptr), "stream is null");
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
}

TEST_F(Thread, TheLastResetEndsContextsOfTheDevice) {
  aclrtContext inner = OtherContext(0), elsewhere = OtherContext(1);
  aclrtStream stream = NewStream();
  bool ran = false;
  Call(stream, [&] { ran = true; });
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtResetDevice(0));
  EXPECT_OK(aclrtSynchronizeStream(stream)) << "one user is left";
  EXPECT_OK(aclrtResetDevice(0));
  EXPECT_TRUE(ran);
  int32_t device;
  EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtGetDevice(&device), "no live context");
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclrtSetCurrentContext(inner), "destroyed");
  EXPECT_OK(aclrtSetCurrentContext(elsewhere));
  EXPECT_OK(aclrtGetDevice(&device));
  EXPECT_EQ(device, 1);
  EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtResetDevice(0), "not in use");
  EXPECT_REFUSED(ACL_ERROR_RT_CONTEXT_NULL, aclrtResetDeviceForce(0), "reset already");
}

TEST_F(Thread, AForcedResetDropsWhatWaits) {
  EXPECT_OK(aclrtSetDevice(0));
  aclrtStream stream = NewStream();
  EXPECT_OK(aclrtStreamWaitEvent(stream, NewEvent()));
  EXPECT_OK(aclrtResetDeviceForce(0));
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclrtSynchronizeStream(stream), "destroyed");
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
}

// Holds up the stream until the reset of device 0 is under way, as a callback is told.
void CallUntilReset(aclrtStream stream) {
  Call(stream, [] {
    while (aclrtSetDevice(0) == ACL_SUCCESS) std::this_thread::yield();
  });
}

// acl page 03_0041: the tasks of the default context are waited for. A stream that waits without end does not
// keep others from that.
TEST_F(Thread, AForcedResetWaitsForWorkThatGetsOn) {
  EXPECT_OK(aclrtSetDevice(0));
  const aclrtEvent never = NewEvent(), event = NewEvent();
  EXPECT_OK(aclrtStreamWaitEvent(NewStream(), never));
  const aclrtStream first = NewStream(), second = NewStream();
  bool ran = false, last = false;
  CallUntilReset(first);
  Call(first, [&] { ran = true; });
  EXPECT_OK(aclrtRecordEvent(event, first));
  EXPECT_OK(aclrtStreamWaitEvent(second, event));
  Call(second, [&] { last = true; });
  EXPECT_OK(aclrtResetDeviceForce(0));
  EXPECT_TRUE(ran);
  EXPECT_TRUE(last);
}

TEST_F(Thread, AForcedResetWaitsForWhatAnotherContextBrings) {
  EXPECT_OK(aclrtSetDevice(0));
  aclrtContext own = CurrentContext();
  const aclrtStream stream = NewStream();
  aclrtNotify notify = nullptr;
  EXPECT_OK(aclrtCreateNotify(&notify, 0));
  bool ran = false;
  EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
  Call(stream, [&] { ran = true; });
  OtherContext(0);
  const aclrtStream other = NewStream();
  CallUntilReset(other);
  EXPECT_OK(aclrtRecordNotify(notify, other));
  EXPECT_OK(aclrtSetCurrentContext(own));
  EXPECT_OK(aclrtResetDeviceForce(0));
  EXPECT_TRUE(ran);
}

// Each of the streams waits for the one before, and the first for something that does not come.
TEST_F(Thread, AForcedResetEndsWhateverIsWaitedFor) {
  for (int kind = 0; kind < 4; ++kind) {
    EXPECT_OK(aclrtSetDevice(0));
    const aclrtStream first = NewStream(), second = NewStream(), third = NewStream();
    void* word = nullptr;
    EXPECT_OK(aclrtMalloc(&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMemset(word, 8, 0, 8));
    aclrtNotify notify = nullptr;
    EXPECT_OK(aclrtCreateNotify(&notify, 0));
    const aclrtEvent events[] = {NewEvent(), NewEvent()};
    if (kind == 0) EXPECT_OK(aclrtStreamWaitEvent(first, NewEvent()));
    if (kind == 1) EXPECT_OK(aclrtValueWait(word, 1, ACL_VALUE_WAIT_EQ, first));
    if (kind == 2) EXPECT_OK(aclrtWaitAndResetNotify(notify, first, 0));
    if (kind == 3) {
      aclmdlRI model = nullptr;
      EXPECT_OK(aclmdlRICaptureBegin(third, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
      EXPECT_OK(aclrtWaitAndResetNotify(notify, third, 0));
      EXPECT_OK(aclmdlRICaptureEnd(third, &model));
      EXPECT_OK(aclmdlRIExecuteAsync(model, first));
      EXPECT_OK(aclmdlRIExecuteAsync(model, third));
    }
    bool ran = false;
    EXPECT_OK(aclrtRecordEvent(events[0], first));
    EXPECT_OK(aclrtStreamWaitEvent(second, events[0]));
    EXPECT_OK(aclrtRecordEvent(events[1], second));
    EXPECT_OK(aclrtStreamWaitEvent(nullptr, events[1]));
    Call(nullptr, [&] { ran = true; });
    EXPECT_OK(aclrtResetDeviceForce(0)) << kind;
    EXPECT_FALSE(ran) << kind;
  }
}

TEST_F(Thread, ReleasedInTheDocumentedOrder) {
  aclrtContext context = nullptr;
  EXPECT_OK(aclrtCreateContext(&context, 0));
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  EXPECT_OK(aclrtRecordEvent(event, stream));
  EXPECT_OK(aclrtDestroyEvent(event));
  EXPECT_OK(aclrtDestroyStream(stream));
  EXPECT_OK(aclrtDestroyContext(context));
  EXPECT_OK(aclrtResetDevice(0));
  EXPECT_OK(aclFinalize());
}

TEST_F(Thread, TextsAndCodesBelongToTheThread) {
  EXPECT_EQ(aclrtSetDevice(99), ACL_ERROR_RT_INVALID_DEVICEID);
  InThread([] {
    EXPECT_EQ(TakeMessage(), "");
    EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  });
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_THAT(TakeMessage(), testing::HasSubstr("device 99"));
}

}  // namespace
