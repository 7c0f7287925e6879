// Subscribed threads: whom they serve, and what happens when one side goes away.
#include <pthread.h>

#include "fixture.h"

namespace {

using namespace conformance;

class Report : public Started {
 protected:
  static uint64_t Self() { return static_cast<uint64_t>(pthread_self()); }
  static void Add(void* number) { ++*static_cast<std::atomic<int>*>(number); }
  std::atomic<int> calls_{0};
};

TEST_F(Report, AStreamHasOneThread) {
  aclrtStream stream = NewStream();
  EXPECT_OK(aclrtSubscribeReport(Self(), stream));
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_SUBSCRIBE, aclrtSubscribeReport(Self() + 1, stream),
                 "unsubscribe it first");
  EXPECT_REFUSED(ACL_ERROR_RT_THREAD_SUBSCRIBE, aclrtUnSubscribeReport(Self() + 1, stream),
                 "is subscribed to stream");
  EXPECT_OK(aclrtUnSubscribeReport(Self(), stream));
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_SUBSCRIBE, aclrtUnSubscribeReport(Self(), stream),
                 "aclrtSubscribeReport first");
}

TEST_F(Report, AThreadServesStreamsOfOneDevice) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtContext here = CurrentContext(), there = OtherContext(1);
  aclrtStream foreign = StreamOf(there);
  EXPECT_OK(aclrtSubscribeReport(Self(), first));
  EXPECT_OK(aclrtSubscribeReport(Self(), second));
  EXPECT_OK(aclrtSetCurrentContext(there));
  EXPECT_REFUSED(ACL_ERROR_RT_THREAD_SUBSCRIBE, aclrtSubscribeReport(Self(), foreign), "use another thread");
  EXPECT_OK(aclrtSetCurrentContext(here));
  for (aclrtStream stream : {first, second}) {
    EXPECT_OK(aclrtLaunchCallback(Add, &calls_, ACL_CALLBACK_BLOCK, stream));
  }
  while (calls_ < 2) EXPECT_OK(aclrtProcessReport(60'000));
}

TEST_F(Report, ABlockingCallHoldsUpTheStreamAndAnotherDoesNot) {
  aclrtStream stream = NewStream();
  EXPECT_OK(aclrtSubscribeReport(Self(), stream));
  EXPECT_OK(aclrtLaunchCallback(Add, &calls_, ACL_CALLBACK_NO_BLOCK, stream));
  EXPECT_OK(aclrtSynchronizeStream(stream)) << "nobody has run the callback yet";
  EXPECT_EQ(calls_, 0);
  EXPECT_OK(aclrtLaunchCallback(Add, &calls_, ACL_CALLBACK_BLOCK, stream));
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(stream, 5),
                 "unfinished");
  while (calls_ < 2) EXPECT_OK(aclrtProcessReport(60'000));
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

TEST_F(Report, ForcedEndsDoNotWaitForACallbackThatNobodyRuns) {
  aclrtStream gone = NewStream(), aborted = NewStream();
  for (aclrtStream stream : {gone, aborted}) {
    EXPECT_OK(aclrtSubscribeReport(Self(), stream));
    EXPECT_OK(aclrtLaunchCallback(Add, &calls_, ACL_CALLBACK_BLOCK, stream));
  }
  EXPECT_OK(aclrtDestroyStreamForce(gone));
  EXPECT_OK(aclrtStreamAbort(aborted));
  EXPECT_OK(aclrtSynchronizeStream(aborted));
  EXPECT_OK(aclrtLaunchCallback(Add, &calls_, ACL_CALLBACK_BLOCK, aborted));
  EXPECT_OK(aclFinalize());
  EXPECT_EQ(calls_, 0);
}

TEST_F(Report, UnsubscribingEndsTheThreadsWait) {
  aclrtStream stream = NewStream();
  std::promise<uint64_t> id;
  std::promise<void> subscribed;
  std::thread server([&] {
    id.set_value(Self());
    subscribed.get_future().wait();
    EXPECT_REFUSED(ACL_ERROR_RT_THREAD_SUBSCRIBE, aclrtProcessReport(-1), "subscribed to no stream");
  });
  uint64_t thread = id.get_future().get();
  EXPECT_OK(aclrtSubscribeReport(thread, stream));
  subscribed.set_value();
  EXPECT_OK(aclrtUnSubscribeReport(thread, stream));
  server.join();
}

TEST_F(Report, ADestroyedStreamIsServedNoMore) {
  aclrtStream stream = NewStream();
  EXPECT_OK(aclrtSubscribeReport(Self(), stream));
  EXPECT_OK(aclrtDestroyStream(stream));
  EXPECT_REFUSED(ACL_ERROR_RT_THREAD_SUBSCRIBE, aclrtProcessReport(1), "subscribed to no stream");
}

TEST_F(Report, SubscriptionsEndWithAclFinalize) {
  EXPECT_OK(aclrtSubscribeReport(Self(), NewStream()));
  EXPECT_OK(aclFinalize());
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_OK(aclrtSubscribeReport(Self(), NewStream())) << "another device than before";
}

}  // namespace
