// Executing a captured model: many times, on any stream of its device, beside other work.
#include "captures.h"

namespace {

using namespace conformance;

class CaptureReplay : public Captures {
 protected:
  // A model that adds one to *number_ on the host, in two steps that another replay must not disturb.
  aclmdlRI CountingModel() {
    EXPECT_OK(Begin());
    Call(main_, [this] { seen_ = number_.load(); });
    Call(main_, [this] { number_ = seen_ + 1; });
    return End();
  }
  std::atomic<int> number_{0};
  std::atomic<int> seen_{0};
};

TEST_F(CaptureReplay, ManyTimesOnAnyStream) {
  int32_t *a = NewPinned(), *b = NewDevice(), *c = NewPinned();
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(b, a, main_));
  Link(main_, side_);
  EXPECT_OK(Copy(c, b, side_));
  Link(side_, main_);
  aclmdlRI model = End();
  aclrtStream third = NewStream();
  int value = 0;
  for (aclrtStream stream : {main_, side_, third, static_cast<aclrtStream>(nullptr)}) {
    for (int i = 0; i < 100; ++i) {
      *a = ++value;
      EXPECT_OK(RunOnce(model, stream));
      ASSERT_EQ(*c, value);
    }
  }
  EXPECT_OK(aclmdlRIDestroy(model));
}

TEST_F(CaptureReplay, QueuedBehindAndBeforeOtherWork) {
  int32_t *a = NewDevice(1), *b = NewDevice(), *c = NewDevice(), *d = NewDevice();
  aclmdlRI model = CopyModel(c, b);
  Hold hold(side_);
  EXPECT_OK(Copy(b, a, side_));
  EXPECT_OK(aclmdlRIExecuteAsync(model, side_));
  EXPECT_OK(Copy(d, c, side_));
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(side_));
  EXPECT_EQ(*d, 1);
}

TEST_F(CaptureReplay, InTheOrderOfTheEventsAroundIt) {
  int32_t *a = NewDevice(), *b = NewDevice();
  aclmdlRI model = CopyModel(b, a);
  Hold hold(main_);
  EXPECT_OK(Copy(a, NewDevice(5), main_));
  Link(main_, side_);
  EXPECT_OK(aclmdlRIExecuteAsync(model, side_));
  Link(side_, nullptr);
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(*b, 5);
}

TEST_F(CaptureReplay, OneAfterAnotherOnWhateverStreams) {
  aclmdlRI model = CountingModel();
  std::vector<aclrtStream> streams;
  for (int i = 0; i < 8; ++i) streams.push_back(NewStream());
  for (int i = 0; i < 200; ++i)
    EXPECT_OK(aclmdlRIExecuteAsync(model, streams[static_cast<size_t>(i * 7) % 8]));
  EXPECT_OK(aclrtSynchronizeDevice());
  EXPECT_EQ(number_, 200);
}

TEST_F(CaptureReplay, FromSeveralThreads) {
  aclmdlRI model = CountingModel();
  aclrtContext context = CurrentContext();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      EXPECT_OK(aclrtSetCurrentContext(context));
      aclrtStream stream = NewStream();
      for (int i = 0; i < 50; ++i) EXPECT_OK(aclmdlRIExecuteAsync(model, stream));
      EXPECT_OK(aclrtSynchronizeStream(stream));
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(number_, 200);
}

TEST_F(CaptureReplay, TwoModelsOverlap) {
  std::promise<void> first, second;
  EXPECT_OK(Begin());
  Call(main_, [&] {
    first.set_value();
    second.get_future().wait();
  });
  aclmdlRI one = End();
  EXPECT_OK(Begin());
  Call(main_, [&] {
    second.set_value();
    first.get_future().wait();
  });
  aclmdlRI two = End();
  EXPECT_OK(aclmdlRIExecuteAsync(one, main_));
  EXPECT_OK(aclmdlRIExecuteAsync(two, side_));
  EXPECT_OK(aclrtSynchronizeDevice());
}

TEST_F(CaptureReplay, BranchesRunAtTheSameTime) {
  std::promise<void> here, there;
  EXPECT_OK(Begin());
  Link(main_, side_);
  Call(main_, [&] {
    here.set_value();
    there.get_future().wait();
  });
  Call(side_, [&] {
    there.set_value();
    here.get_future().wait();
  });
  Link(side_, main_);
  EXPECT_OK(RunOnce(End(), main_));
}

TEST_F(CaptureReplay, AHostFunctionRunsInItsPlaceEachTime) {
  int32_t *a = NewDevice(), *b = NewDevice();
  std::vector<int> seen;
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(b, a, main_));
  Call(main_, [&, b] { seen.push_back(*b); });
  EXPECT_OK(aclrtMemsetAsync(b, 4, 0, 4, main_));
  aclmdlRI model = End();
  for (int i = 1; i <= 5; ++i) {
    *a = i;
    EXPECT_OK(RunOnce(model, side_));
  }
  EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(CaptureReplay, AWideGraphIsCompleteEachTime) {
  constexpr size_t kWidth = 16, kBytes = 1 << 20;
  std::vector<char *> from, to;
  EXPECT_OK(Begin());
  for (size_t i = 0; i < kWidth; ++i) {
    void *a = nullptr, *b = nullptr;
    EXPECT_OK(aclrtMalloc(&a, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMalloc(&b, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    from.push_back(static_cast<char *>(a));
    to.push_back(static_cast<char *>(b));
    aclrtStream stream = NewStream();
    Link(main_, stream);
    EXPECT_OK(aclrtMemcpyAsync(b, kBytes, a, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    Link(stream, main_);
  }
  aclmdlRI model = End();
  for (int round = 1; round <= 20; ++round) {
    for (char *block : from) block[0] = block[kBytes - 1] = static_cast<char>(round);
    EXPECT_OK(RunOnce(model, side_));
    for (char *block : to) ASSERT_EQ(block[0] + block[kBytes - 1], 2 * round);
  }
}

TEST_F(CaptureReplay, ExecuteWaits) {
  int32_t *a = NewDevice(3), *b = NewDevice();
  aclmdlRI model = CopyModel(b, a);
  EXPECT_OK(aclmdlRIExecute(model, -1));
  EXPECT_EQ(*b, 3);
  *a = 4;
  EXPECT_OK(aclmdlRIExecute(model, 60'000));
  EXPECT_EQ(*b, 4);
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIExecute(model, -2), "timeout = -2 ms.*-1");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclmdlRIExecute(nullptr, -1), "modelRI is null");
}

TEST_F(CaptureReplay, ExecuteEndsAtItsLimit) {
  std::promise<void> go;
  EXPECT_OK(Begin());
  Call(main_, [&] { go.get_future().wait(); });
  aclmdlRI model = End();
  EXPECT_REFUSED(ACL_ERROR_RT_WAIT_TIMEOUT, aclmdlRIExecute(model, 5), "end of the time limit");
  go.set_value();
  EXPECT_OK(aclrtSynchronizeDevice());
}

TEST_F(CaptureReplay, ExecuteAsyncReturnsBeforeTheModelHasRun) {
  std::promise<void> go;
  EXPECT_OK(Begin());
  Call(main_, [&] { go.get_future().wait(); });
  aclmdlRI model = End();
  EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
  EXPECT_FALSE(Idle(main_));
  go.set_value();
  EXPECT_OK(aclrtSynchronizeStream(main_));
}

TEST_F(CaptureReplay, AStreamOfAnotherContextOrDeviceIsRefused) {
  aclmdlRI model = CopyModel(NewDevice(), NewDevice());
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_CONTEXT, aclmdlRIExecuteAsync(model, StreamOf(OtherContext(0))),
                 "another context");
  aclrtContext here = CurrentContext(), there = OtherContext(1);
  EXPECT_OK(aclrtSetCurrentContext(there));
  EXPECT_REFUSED(ACL_ERROR_RT_MODEL_CONTEXT, aclmdlRIExecuteAsync(model, nullptr), "captured on device 0");
  EXPECT_REFUSED(ACL_ERROR_RT_MODEL_CONTEXT, aclmdlRIExecute(model, -1), "stream of its own device");
  EXPECT_OK(aclrtSetCurrentContext(here));
  aclrtContext beside = OtherContext(0);
  EXPECT_OK(aclrtSetCurrentContext(beside));
  EXPECT_OK(RunOnce(model, nullptr)) << "another context of the same device will do";
  EXPECT_OK(aclrtSetCurrentContext(here));
}

TEST_F(CaptureReplay, NotInsideACapture) {
  aclmdlRI model = CopyModel(NewDevice(), NewDevice());
  EXPECT_OK(Begin());
  EXPECT_REFUSED(kWrongMode, aclmdlRIExecuteAsync(model, main_), "cannot be executed inside a capture");
  aclmdlRI none;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &none), "aclmdlRIExecuteAsync");
  EXPECT_OK(Begin());
  EXPECT_OK(RunOnce(model, side_)) << "another stream is free to";
  EXPECT_OK(aclmdlRIDestroy(End()));
}

TEST_F(CaptureReplay, AFailedTaskIsReportedByTheNextSynchronisingCall) {
  int32_t *a = NewPinned(), *b = NewPinned();
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(b, a, main_));
  aclmdlRI model = End();
  EXPECT_OK(aclmdlRIExecuteAsync(model, side_));
  EXPECT_REFUSED(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtSynchronizeStream(side_), "aclmdlRIExecuteAsync");
  EXPECT_OK(aclrtSynchronizeStream(side_)) << "reported once";
}

}  // namespace
