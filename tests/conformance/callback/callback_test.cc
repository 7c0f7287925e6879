// Host callbacks in streams: the runtime's own thread, and threads that subscribe.
#include <pthread.h>

#include <atomic>

#include "runtime_fixture.h"

namespace conformance {
namespace {

class Callback : public RuntimeTest {
 protected:
  static void Add(void* number) { ++*static_cast<std::atomic<int>*>(number); }
  static uint64_t Self() { return static_cast<uint64_t>(pthread_self()); }

  std::atomic<int> calls_{0};
};

TEST_F(Callback, HostFunctionsRunInOrder) {
  aclrtStream stream = NewStream();
  uint64_t* word = NewWord();
  struct Seen {
    uint64_t* word;
    uint64_t value;
  } seen{word, 0};
  EXPECT_EQ(aclrtValueWrite(word, 5, 0, stream), ACL_SUCCESS);
  auto look = [](void* args) { static_cast<Seen*>(args)->value = *static_cast<Seen*>(args)->word; };
  EXPECT_EQ(aclrtLaunchHostFunc(stream, look, &seen), ACL_SUCCESS);
  EXPECT_EQ(aclrtValueWrite(word, 6, 0, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(seen.value, 5u);
  EXPECT_EQ(*word, 6u);
}

TEST_F(Callback, AHostFunctionMustNotWait) {
  static aclrtStream stream;
  static std::atomic<aclError> result;
  stream = NewStream();
  auto wait = [](void*) { result = aclrtSynchronizeStream(stream); };
  EXPECT_EQ(aclrtLaunchHostFunc(stream, wait, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_NE(result.load(), ACL_SUCCESS);
}

TEST_F(Callback, ASlowOneHoldsUpNobodyElse) {
  aclrtStream slow = NewStream(), quick = NewStream();
  uint64_t* word = NewWord();
  static std::atomic<bool> go;
  go = false;
  auto block = [](void*) {
    while (!go) std::this_thread::yield();
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(aclrtLaunchHostFunc(slow, block, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchHostFunc(quick, Add, &calls_), ACL_SUCCESS);
  EXPECT_EQ(aclrtValueWrite(word, 1, 0, quick), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(quick), ACL_SUCCESS);
  EXPECT_EQ(calls_, 1);
  go = true;
  EXPECT_EQ(aclrtSynchronizeStream(slow), ACL_SUCCESS);
}

TEST_F(Callback, TheSubscribedThreadRunsThem) {
  aclrtStream stream = NewStream();
  std::atomic<bool> done{false};
  std::thread server([&] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    while (!done) aclrtProcessReport(10);
    aclrtResetDevice(0);
  });
  uint64_t id = static_cast<uint64_t>(server.native_handle());
  ASSERT_EQ(aclrtSubscribeReport(id, stream), ACL_SUCCESS);
  EXPECT_NE(aclrtSubscribeReport(id, stream), ACL_SUCCESS) << "twice";
  EXPECT_EQ(aclrtLaunchCallback(Add, &calls_, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchCallback(Add, &calls_, ACL_CALLBACK_NO_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  while (calls_ != 2) std::this_thread::yield();
  done = true;
  server.join();
  EXPECT_EQ(aclrtUnSubscribeReport(id, stream), ACL_SUCCESS);
  EXPECT_NE(aclrtUnSubscribeReport(id, stream), ACL_SUCCESS);
}

TEST_F(Callback, WithoutASubscriberItIsRefused) {
  aclrtStream stream = NewStream();
  EXPECT_EQ(aclrtLaunchCallback(Add, &calls_, ACL_CALLBACK_BLOCK, stream), ACL_ERROR_RT_STREAM_NO_CB_REG);
  EXPECT_NE(aclrtLaunchCallback(Add, &calls_, static_cast<aclrtCallbackBlockType>(9), stream), ACL_SUCCESS);
  EXPECT_NE(aclrtProcessReport(1), ACL_SUCCESS) << "this thread serves no stream";
  EXPECT_NE(aclrtProcessReport(0), ACL_SUCCESS);
}

TEST_F(Callback, WaitingForOneEnds) {
  aclrtStream stream = NewStream();
  ASSERT_EQ(aclrtSubscribeReport(Self(), stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_WAIT_TIMEOUT);
  EXPECT_EQ(aclrtLaunchCallback(Add, &calls_, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(aclrtUnSubscribeReport(Self(), stream), ACL_SUCCESS);
}

}  // namespace
}  // namespace conformance
