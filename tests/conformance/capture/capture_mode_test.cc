// What each mode forbids, in the thread that captures and in others.
#include "captures.h"

namespace {

using namespace conformance;

constexpr auto kGlobal = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
constexpr auto kThreadLocal = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto kRelaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;

aclmdlRICaptureMode Exchange(aclmdlRICaptureMode mode) {
  EXPECT_OK(aclmdlRICaptureThreadExchangeMode(&mode));
  return mode;
}

class CaptureMode : public Captures {
 protected:
  void SetUp() override {
    Captures::SetUp();
    device_ = NewDevice();
  }
  struct Unsafe {
    const char* name;
    std::function<aclError()> call;
  };
  std::vector<Unsafe> UnsafeCalls() {
    int32_t* d = device_;
    int32_t* pageable = &pageable_;
    aclrtStream other = side_;
    return {
        {"aclrtMemcpy", [=] { return aclrtMemcpy(d, 4, pageable, 4, ACL_MEMCPY_HOST_TO_DEVICE); }},
        {"aclrtMemset", [=] { return aclrtMemset(d, 4, 1, 4); }},
        {"aclrtMemcpy2d", [=] { return aclrtMemcpy2d(d, 4, pageable, 4, 4, 1, ACL_MEMCPY_HOST_TO_DEVICE); }},
        {"aclrtMemcpyAsync",
         [=] { return aclrtMemcpyAsync(d, 4, pageable, 4, ACL_MEMCPY_HOST_TO_DEVICE, other); }},
    };
  }
  void ExpectAllowed() {
    for (const Unsafe& unsafe : UnsafeCalls()) EXPECT_OK(unsafe.call()) << unsafe.name;
  }
  // Each call is refused and spoils the capture; `where` runs a call in the thread that is meant.
  template <class Where>
  void ExpectForbidden(aclmdlRICaptureMode mode, Where&& where) {
    for (const Unsafe& unsafe : UnsafeCalls()) {
      SCOPED_TRACE(unsafe.name);
      EXPECT_OK(Begin(mode));
      where([&] {
        EXPECT_EQ(unsafe.call(), kWrongMode);
        EXPECT_THAT(TakeMessage(), testing::ContainsRegex(std::string(unsafe.name) +
                                                          ".*aclmdlRICaptureThreadExchangeMode.*RELAXED"));
      });
      aclmdlRI model;
      EXPECT_EQ(aclmdlRICaptureEnd(main_, &model), kInvalidated);
      EXPECT_THAT(TakeMessage(), testing::HasSubstr(unsafe.name));
      ExpectWorks({main_, side_});
    }
  }
  template <class Body>
  void Elsewhere(Body&& body) {
    aclrtContext context = CurrentContext();
    InThread([&] {
      EXPECT_OK(aclrtSetCurrentContext(context));
      body();
    });
  }

  int32_t* device_ = nullptr;
  int32_t pageable_ = 9;
};

TEST_F(CaptureMode, GlobalForbidsUnsafeCallsInAllThreads) {
  ExpectForbidden(kGlobal, [](auto&& call) { call(); });
  ExpectForbidden(kGlobal, [&](auto&& call) { Elsewhere(call); });
}

TEST_F(CaptureMode, ThreadLocalForbidsThemInTheCapturingThread) {
  ExpectForbidden(kThreadLocal, [](auto&& call) { call(); });
  EXPECT_OK(Begin(kThreadLocal));
  Elsewhere([&] { ExpectAllowed(); });
  EXPECT_OK(aclmdlRIDestroy(End()));
}

TEST_F(CaptureMode, RelaxedAllowsThem) {
  EXPECT_OK(Begin(kRelaxed));
  ExpectAllowed();
  Elsewhere([&] { ExpectAllowed(); });
  EXPECT_OK(aclmdlRIDestroy(End()));
}

TEST_F(CaptureMode, TheCapturingThreadMayRelaxForAWhile) {
  for (auto mode : {kGlobal, kThreadLocal}) {
    EXPECT_OK(Begin(mode));
    aclmdlRICaptureMode before = Exchange(kRelaxed);
    ExpectAllowed();
    EXPECT_EQ(Exchange(before), kRelaxed);
    EXPECT_EQ(aclrtMemset(device_, 4, 0, 4), kWrongMode) << "strict again";
    EXPECT_THAT(TakeMessage(), testing::HasSubstr("RELAXED"));
    aclmdlRI model;
    EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &model),
                   "aclrtMemset.*captured task.*; make it outside");
  }
}

TEST_F(CaptureMode, AnotherThreadMayRelaxOrCareForItselfOnly) {
  for (auto mode : {kRelaxed, kThreadLocal}) {
    EXPECT_OK(Begin(kGlobal));
    Elsewhere([&] {
      EXPECT_EQ(Exchange(mode), kGlobal) << "what a thread starts with";
      ExpectAllowed();
    });
    EXPECT_OK(aclmdlRIDestroy(End()));
  }
}

TEST_F(CaptureMode, ARelaxedCaptureDoesNotCareForOtherThreads) {
  EXPECT_OK(Begin(kRelaxed));
  Elsewhere([&] {
    Exchange(kGlobal);
    ExpectAllowed();
  });
  EXPECT_OK(aclmdlRIDestroy(End()));
}

TEST_F(CaptureMode, ACaptureLeavesTheThreadsModeAlone) {
  aclrtContext context = CurrentContext();
  EXPECT_OK(Begin(kRelaxed));
  InThread([&] {
    EXPECT_OK(aclrtSetCurrentContext(context));
    EXPECT_OK(aclmdlRIDestroy(End()));
  });
  EXPECT_EQ(Exchange(kGlobal), kGlobal) << "ended elsewhere, the thread is as it was";
  EXPECT_OK(Begin(kGlobal));
  EXPECT_REFUSED(kWrongMode, aclrtMemset(device_, 4, 0, 4), "RELAXED");
  aclmdlRI model;
  EXPECT_EQ(aclmdlRICaptureEnd(main_, &model), kInvalidated);
}

TEST_F(CaptureMode, OneCaptureOfAThreadEndsWhileAnotherGoesOn) {
  EXPECT_OK(Begin(kThreadLocal));
  EXPECT_OK(aclmdlRICaptureBegin(side_, kRelaxed));
  EXPECT_OK(aclmdlRIDestroy(End()));
  EXPECT_OK(aclrtMemset(device_, 4, 0, 4)) << "only the relaxed one is left";
  aclmdlRI model;
  EXPECT_OK(aclmdlRICaptureEnd(side_, &model));
  EXPECT_OK(aclmdlRIDestroy(model));
}

TEST_F(CaptureMode, QueriesAndWaitsAreForbiddenInEveryMode) {
  aclrtStreamStatus status;
  int32_t* pinned = NewPinned(8);
  const Unsafe calls[] = {
      {"aclrtStreamQuery", [&] { return aclrtStreamQuery(main_, &status); }},
      {"aclrtSynchronizeStream", [&] { return aclrtSynchronizeStream(main_); }},
      {"aclrtSynchronizeStreamWithTimeout", [&] { return aclrtSynchronizeStreamWithTimeout(main_, 5); }},
      {"aclrtSynchronizeDevice", [&] { return aclrtSynchronizeDevice(); }},
      {"aclrtSynchronizeDeviceWithTimeout", [&] { return aclrtSynchronizeDeviceWithTimeout(5); }},
      {"aclrtStreamAbort", [&] { return aclrtStreamAbort(main_); }},
      {"aclrtFreeWithDevSync", [&] { return aclrtFreeWithDevSync(device_); }},
      {"aclrtFreeHostWithDevSync", [&] { return aclrtFreeHostWithDevSync(pinned); }},
  };
  for (auto mode : {kGlobal, kThreadLocal, kRelaxed}) {
    for (const Unsafe& forbidden : calls) {
      SCOPED_TRACE(forbidden.name);
      EXPECT_OK(Begin(mode));
      EXPECT_EQ(forbidden.call(), kQueried);
      EXPECT_THAT(TakeMessage(), testing::HasSubstr(forbidden.name));
      aclmdlRI model;
      EXPECT_EQ(aclmdlRICaptureEnd(main_, &model), kInvalidated);
      EXPECT_THAT(TakeMessage(), testing::HasSubstr(forbidden.name));
      ExpectWorks({main_});
    }
  }
}

TEST_F(CaptureMode, OtherStreamsAndDevicesGoOn) {
  int32_t* to = NewDevice();
  EXPECT_OK(Begin(kGlobal));
  EXPECT_OK(Copy(to, NewDevice(6), side_));
  EXPECT_OK(aclrtSynchronizeStream(side_));
  EXPECT_EQ(*to, 6);
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  aclrtContext here = CurrentContext();
  EXPECT_OK(aclrtSetCurrentContext(OtherContext(1)));
  EXPECT_OK(aclrtSynchronizeDevice());
  EXPECT_OK(aclrtSetCurrentContext(here));
  EXPECT_OK(aclmdlRIDestroy(End()));
}

TEST_F(CaptureMode, PinnedCopiesAreCaptured) {
  int32_t* pinned = NewPinned(8);
  EXPECT_OK(Begin(kGlobal));
  EXPECT_OK(Copy(device_, pinned, main_));
  aclmdlRI model = End();
  EXPECT_EQ(*device_, 0);
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_EQ(*device_, 8);
}

}  // namespace
