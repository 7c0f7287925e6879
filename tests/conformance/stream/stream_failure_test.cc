// Streams whose tasks fail, are aborted, or belong elsewhere.
#include "fixture.h"

namespace {

using namespace conformance;

class StreamFailure : public Started {
 protected:
  void SetUp() override {
    Started::SetUp();
    void *a = nullptr, *b = nullptr;
    EXPECT_OK(aclrtMallocHost(&a, 64));
    EXPECT_OK(aclrtMallocHost(&b, 64));
    from_ = a;
    to_ = b;
  }
  // A task that is accepted and fails: an asynchronous copy from host to host.
  void Fail(aclrtStream stream) {
    EXPECT_OK(aclrtMemcpyAsync(to_, 4, from_, 4, ACL_MEMCPY_HOST_TO_HOST, stream));
  }
  void Mark(aclrtStream stream, char c) {
    Call(stream, [this, c] { order_ += c; });
  }
  aclrtStream StopOnFailure() {
    aclrtStream stream = NewStream();
    EXPECT_OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    return stream;
  }
  std::string order_;
  void* from_ = nullptr;
  void* to_ = nullptr;
};

TEST_F(StreamFailure, ByDefaultLaterTasksRunAndTheErrorIsToldOnce) {
  aclrtStream before = NewStream();
  Mark(before, ' ');
  EXPECT_OK(aclrtDestroyStream(before));
  order_.clear();
  aclrtStream stream = NewStream();  // with the memory of the one before; its tasks count from 1
  Fail(stream);
  Mark(stream, 'a');
  EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtSynchronizeStream(stream),
                 "task 1 of stream.*submitted by aclrtMemcpyAsync");
  EXPECT_EQ(order_, "a");
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

TEST_F(StreamFailure, OfAModelNamesTheNodeAndTheCallThatSubmittedIt) {
  aclrtStream stream = NewStream();
  void* memory = nullptr;
  EXPECT_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
  EXPECT_OK(aclrtMemsetAsync(memory, 64, 0, 64, stream));
  Fail(stream);
  aclmdlRI model = nullptr;
  EXPECT_OK(aclmdlRICaptureEnd(stream, &model));
  for (int launch = 0; launch < 2; ++launch) {
    EXPECT_OK(aclmdlRIExecuteAsync(model, stream));
    EXPECT_REFUSED(
        ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtSynchronizeStream(stream),
        "task [0-9]+ of stream [0-9]+ .model launch, submitted by aclmdlRIExecuteAsync. failed at node 1 "
        "of model [0-9]+ .host-to-host memcpy, submitted by aclrtMemcpyAsync.: ");
  }
  EXPECT_OK(aclmdlRIDestroy(model));
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

TEST_F(StreamFailure, TheFirstOfSeveralIsTold) {
  aclrtStream stream = NewStream();
  Mark(stream, 'a');
  Fail(stream);
  Fail(stream);
  EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtSynchronizeStream(stream),
                 "task [0-9]+ of stream.*aclrtMemcpyAsync");
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

TEST_F(StreamFailure, EventsAndDevicesTellItToo) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  Fail(stream);
  EXPECT_OK(aclrtRecordEvent(event, stream));
  EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtSynchronizeEvent(event), "aclrtMemcpyAsync");
  Fail(stream);
  EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtSynchronizeDevice(), "aclrtMemcpyAsync");
  EXPECT_OK(aclrtSynchronizeDevice());
}

TEST_F(StreamFailure, StoppingTakesNothingMoreAndSpreadsInItsContext) {
  aclrtStream stops = StopOnFailure(), beside = NewStream();
  aclrtContext elsewhere = OtherContext(0);
  aclrtStream foreign = StreamOf(elsewhere);
  Hold hold(stops);
  Fail(stops);
  Mark(stops, 'x');
  hold.LetGo();
  EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtSynchronizeStream(stops), "aclrtMemcpyAsync");
  EXPECT_EQ(order_, "") << "what was queued behind is dropped";
  for (aclrtStream stream : {stops, beside}) {
    EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtRecordEvent(NewEvent(), stream),
                   "takes no more work.*stops on failure.*create a new one");
  }
  EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtRecordEvent(NewEvent(), nullptr),
                 "takes no more work.*reset its device");
  EXPECT_OK(aclrtDestroyStream(stops));
  aclrtStream fresh = NewStream();
  Mark(fresh, 'f');
  EXPECT_OK(aclrtSynchronizeStream(fresh));
  aclrtContext here = CurrentContext();
  EXPECT_OK(aclrtSetCurrentContext(elsewhere));
  Mark(foreign, 'e');
  EXPECT_OK(aclrtSynchronizeStream(foreign));
  EXPECT_OK(aclrtSetCurrentContext(here));
  EXPECT_EQ(order_, "fe") << "new streams and other contexts go on";
}

// Pages 0074 and "Task Stopping Upon Failure": the mode applies to the other streams of the context.
TEST_F(StreamFailure, StoppingIsTheModeOfAllStreamsOfTheContext) {
  aclrtStream fails = NewStream(), waits = NewStream();
  EXPECT_OK(aclrtSetStreamFailureMode(nullptr, ACL_STOP_ON_FAILURE));
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtSetStreamFailureMode(nullptr, ACL_STOP_ON_FAILURE), "once");
  aclrtStreamAttrValue value = {};
  EXPECT_OK(aclrtGetStreamAttribute(fails, ACL_STREAM_ATTR_FAILURE_MODE, &value));
  EXPECT_EQ(value.failureMode, 1u);
  EXPECT_OK(aclrtStreamWaitEvent(waits, NewEvent()));
  Mark(waits, 'w');
  Hold hold(fails);
  Fail(fails);
  Mark(fails, 'x');
  hold.LetGo();
  EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtSynchronizeStream(fails), "aclrtMemcpyAsync");
  EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtSynchronizeStream(waits), "aclrtMemcpyAsync");
  EXPECT_EQ(order_, "") << "what was queued is dropped on all of them";
  EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtRecordEvent(NewEvent(), nullptr),
                 "takes no more work");
}

TEST_F(StreamFailure, TheModeIsSetOnce) {
  aclrtStream stream = StopOnFailure();
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE), "once");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclrtSetStreamFailureMode(NewStream(), 7), "mode = 7");
}

TEST_F(StreamFailure, AbortEndsAWaitThatNobodyWillFulfil) {
  aclrtStream stream = NewStream();
  EXPECT_OK(aclrtStreamWaitEvent(stream, NewEvent()));
  Mark(stream, 'x');
  EXPECT_OK(aclrtStreamAbort(stream));
  EXPECT_TRUE(Idle(stream));
  EXPECT_OK(aclrtSynchronizeStream(stream)) << "nothing is left of the aborted tasks";
  Mark(stream, 'a');
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(order_, "a");
}

TEST_F(StreamFailure, AbortTellsThoseWhoWait) {
  aclrtContext context = CurrentContext();
  aclrtEvent never = NewEvent(), behind = NewEvent();
  aclrtStream stream = NewStream();
  const std::function<aclError()> waits[] = {
      [&] { return aclrtSynchronizeStream(stream); },
      [&] { return aclrtSynchronizeEvent(behind); },
      [&] { return aclrtSynchronizeEventWithTimeout(behind, 60'000); },
      [&] { return aclrtSynchronizeDevice(); },
  };
  for (const auto& wait : waits) {
    EXPECT_OK(aclrtStreamWaitEvent(stream, never));
    EXPECT_OK(aclrtRecordEvent(behind, stream));
    std::atomic<int> waiting{0};
    std::thread waiter([&] {
      EXPECT_OK(aclrtSetCurrentContext(context));
      waiting = gettid();
      EXPECT_REFUSED(ACL_ERROR_RT_DEVICE_TASK_ABORT, wait(), "dropped while");
    });
    while (waiting == 0) std::this_thread::yield();
    AwaitAsleep(waiting);
    EXPECT_OK(aclrtStreamAbort(stream));
    waiter.join();
    EXPECT_OK(aclrtSynchronizeStream(stream)) << "told once";
  }
}

TEST_F(StreamFailure, AbortOfADeviceDropsTheTasksOfAllItsStreams) {
  aclrtStream waits = NewStream();
  EXPECT_OK(aclrtStreamWaitEvent(waits, NewEvent()));
  EXPECT_OK(aclrtStreamWaitEvent(nullptr, NewEvent()));
  Mark(waits, 'x');
  EXPECT_OK(aclrtDeviceTaskAbort(0, 0));
  for (aclrtStream stream : {waits, static_cast<aclrtStream>(nullptr)}) {
    EXPECT_REFUSED(ACL_ERROR_RT_DEVICE_TASK_ABORT, aclrtSynchronizeStream(stream), "aclrtDeviceTaskAbort");
    EXPECT_OK(aclrtSynchronizeStream(stream)) << "told once";
  }
  Mark(waits, 'a');
  EXPECT_OK(aclrtSynchronizeStream(waits));
  EXPECT_EQ(order_, "a");
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_DEVICEID, aclrtDeviceTaskAbort(9, 0), "device 9");
}

TEST_F(StreamFailure, AbortOfADeviceHasALimit) {
  aclrtStream stream = NewStream();
  Hold hold(stream);
  hold.AwaitReached();
  Mark(stream, 'x');
  EXPECT_REFUSED(ACL_ERROR_RT_WAIT_TIMEOUT, aclrtDeviceTaskAbort(0, 5), "still ran.*call again");
  hold.LetGo();
  EXPECT_OK(aclrtDeviceTaskAbort(0, 0));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_DEVICE_TASK_ABORT);
  EXPECT_EQ(order_, "") << "what was queued did not run";
}

TEST_F(StreamFailure, AbortTakesTheDefaultStreamButNoneOfTheDevice) {
  EXPECT_OK(aclrtStreamWaitEvent(nullptr, NewEvent()));
  Mark(nullptr, 'x');
  EXPECT_OK(aclrtStreamAbort(nullptr));
  EXPECT_TRUE(Idle(nullptr));
  Mark(nullptr, 'd');
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(order_, "d");
  aclrtStream only = nullptr;
  EXPECT_OK(aclrtCreateStreamWithConfig(&only, 0, ACL_STREAM_DEVICE_USE_ONLY));
  EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtStreamAbort(only), "DEVICE_USE_ONLY");
}

TEST_F(StreamFailure, AnotherContextsStreamIsRefused) {
  aclrtStream foreign = StreamOf(OtherContext(0));
  aclrtStreamStatus status;
  int32_t id;
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclrtSynchronizeStream(foreign), "aclrtSetCurrentContext");
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclrtSynchronizeStreamWithTimeout(foreign, 1),
                 "another context");
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclrtStreamQuery(foreign, &status), "another context");
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclrtStreamGetId(foreign, &id), "another context");
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclrtDestroyStream(foreign), "another context");
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclrtDestroyStreamForce(foreign), "another context");
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclrtStreamAbort(foreign), "another context");
}

TEST_F(StreamFailure, SynchroniseDoesNotWaitForStreamsOfTheDevice) {
  for (uint32_t flag : {ACL_STREAM_PERSISTENT, ACL_STREAM_CPU_SCHEDULE, ACL_STREAM_DEVICE_USE_ONLY}) {
    aclrtStream stream = nullptr;
    EXPECT_OK(aclrtCreateStreamWithConfig(&stream, 0, flag));
    Hold hold(stream);
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, -1));
    EXPECT_OK(aclrtSynchronizeStream(stream));
  }
}

TEST_F(StreamFailure, WaitsInsideCallbacksAreRefused) {
  aclrtStream stream = NewStream(), other = NewStream();
  aclrtEvent event = NewEvent();
  aclrtContext context = CurrentContext(), spare = OtherContext(0);
  EXPECT_OK(aclrtRecordEvent(event, other));
  void* device = nullptr;
  EXPECT_OK(aclrtMalloc(&device, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  int32_t pageable = 0;
  std::vector<std::string> messages;
  Call(stream, [&] {
    aclrtSetCurrentContext(context);
    TakeMessage();
    aclError codes[] = {aclrtSynchronizeStream(other),
                        aclrtSynchronizeStreamWithTimeout(other, 1),
                        aclrtSynchronizeEvent(event),
                        aclrtSynchronizeEventWithTimeout(event, 1),
                        aclrtSynchronizeDevice(),
                        aclrtSynchronizeDeviceWithTimeout(1),
                        aclrtStreamAbort(other),
                        aclrtDestroyStream(other),
                        aclrtDestroyStreamForce(other),
                        aclrtDestroyContext(spare),
                        aclrtResetDevice(0),
                        aclrtResetDeviceForce(0),
                        aclrtFreeWithDevSync(device),
                        aclrtFreeHostWithDevSync(from_),
                        aclrtMemcpyAsync(device, 4, &pageable, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream),
                        aclrtMemsetAsync(&pageable, 4, 1, 4, stream),
                        aclFinalize(),
                        aclFinalizeReference(nullptr)};
    for (aclError code : codes) EXPECT_EQ(code, ACL_ERROR_INVALID_PARAM);
    messages.push_back(TakeMessage());
  });
  EXPECT_OK(aclrtSynchronizeStream(stream));
  ASSERT_EQ(messages.size(), 1u);
  for (const char* name : {"aclrtSynchronizeStream", "aclrtDestroyContext", "aclrtFreeHostWithDevSync",
                           "aclrtMemsetAsync", "aclFinalizeReference", "inside a callback"}) {
    EXPECT_THAT(messages[0], testing::HasSubstr(name));
  }
  EXPECT_OK(aclrtMemcpy(device, 4, from_, 4, ACL_MEMCPY_HOST_TO_DEVICE)) << "neither was freed";
}

}  // namespace
