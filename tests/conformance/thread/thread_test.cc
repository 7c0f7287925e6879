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
