// Streams: life, waiting, attributes, failure behaviour, callbacks on their life.
#include <vector>

#include "peek.h"
#include "runtime_fixture.h"

namespace conformance {
namespace {

class Stream : public RuntimeTest {
 protected:
  static aclrtStreamStatus StatusOf(aclrtStream stream) {
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    EXPECT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
    return status;
  }
  static void Write(uint64_t* word, uint64_t value, aclrtStream stream) {
    EXPECT_EQ(aclrtValueWrite(word, value, 0, stream), ACL_SUCCESS);
  }
};

TEST_F(Stream, TasksRunInOrder) {
  aclrtStream stream = NewStream();
  uint64_t* word = NewWord();
  for (uint64_t i = 1; i <= 100; ++i) Write(word, i, stream);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(*word, 100u);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(Stream, ADestroyedOneIsRefused) {
  aclrtStream stream = NewStream();
  aclrtStreamStatus status;
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtStreamQuery(stream, &status), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("stream"));
}

TEST_F(Stream, TheDefaultOneIsNullAndStays) {
  uint64_t* word = NewWord();
  Write(word, 5, nullptr);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(*word, 5u);
  EXPECT_EQ(StatusOf(nullptr), ACL_STREAM_STATUS_COMPLETE);
  EXPECT_NE(aclrtDestroyStream(nullptr), ACL_SUCCESS);
  EXPECT_NE(aclrtDestroyStreamForce(nullptr), ACL_SUCCESS);
}

TEST_F(Stream, QueryAndTimeLimits) {
  aclrtStream stream = NewStream();
  uint64_t* word = NewWord();
  Gate gate;
  gate.Close(stream);
  Write(word, 1, stream);
  EXPECT_EQ(StatusOf(stream), ACL_STREAM_STATUS_NOT_READY);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, -5), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(*word, 0u);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, -1), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(stream), ACL_STREAM_STATUS_COMPLETE);
  EXPECT_EQ(*word, 1u);
}

TEST_F(Stream, WorkStartsWithoutBeingWaitedFor) {
  aclrtStream stream = NewStream();
  uint64_t* word = NewWord();
  Write(word, 7, stream);
  while (StatusOf(stream) != ACL_STREAM_STATUS_COMPLETE) std::this_thread::yield();
  EXPECT_EQ(*word, 7u);
}

TEST_F(Stream, ACopyArrivesWhereTheHostSpins) {
  aclrtStream stream = NewStream();
  uint64_t* word = NewWord();
  void* pinned = nullptr;
  ASSERT_EQ(aclrtMallocHost(&pinned, 64), ACL_SUCCESS);
  auto* flag = static_cast<uint64_t*>(pinned);
  *flag = 0;
  Write(word, 3, stream);
  EXPECT_EQ(aclrtMemcpyAsync(pinned, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
  while (Peek(flag) != 3) continue;
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
}

TEST_F(Stream, DestroyWaitsAndForceDoesNot) {
  uint64_t* word = NewWord();
  aclrtStream stream = NewStream();
  for (uint64_t i = 1; i <= 1000; ++i) Write(word, i, stream);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(*word, 1000u);

  Gate gate;
  stream = NewStream();
  gate.Close(stream);
  Write(word, 5, stream);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS) << "does not wait for the gate";
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(*word, 1000u) << "the task was dropped";
}

TEST_F(Stream, AbortDropsWhatIsQueued) {
  uint64_t* word = NewWord();
  aclrtStream stream = NewStream();
  Gate gate;
  gate.Close(stream);
  Write(word, 5, stream);
  EXPECT_EQ(aclrtStreamAbort(stream), ACL_SUCCESS);
  EXPECT_EQ(*word, 0u);
  Write(word, 6, stream);
  aclrtSynchronizeStream(stream);
  EXPECT_EQ(*word, 6u) << "the stream works again";
}

TEST_F(Stream, PriorityFlagsAndNumber) {
  aclrtStream stream = nullptr, second = NewStream();
  uint32_t value = 99;
  int32_t first_id = -1, second_id = -1;
  EXPECT_EQ(aclrtCreateStreamWithConfig(&stream, 3, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamGetPriority(stream, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 3u);
  EXPECT_EQ(aclrtStreamGetFlags(stream, &value), ACL_SUCCESS);
  EXPECT_EQ(value, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC);
  EXPECT_EQ(aclrtStreamGetId(stream, &first_id), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamGetId(second, &second_id), ACL_SUCCESS);
  EXPECT_NE(first_id, second_id);
  EXPECT_EQ(aclrtStreamGetPriority(second, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 0u) << "the highest";
  EXPECT_EQ(aclrtCreateStreamWithConfig(&stream, 99, 1u << 20), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamGetPriority(stream, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 7u) << "cut to the lowest";
  EXPECT_EQ(aclrtStreamGetFlags(stream, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 0u) << "an unknown flag makes an ordinary stream";
  EXPECT_EQ(aclrtStreamGetId(nullptr, &first_id), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamGetFlags(nullptr, &value), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamGetPriority(nullptr, &value), ACL_SUCCESS);
}

TEST_F(Stream, ADeviceHasOnlySoMany) {
  uint32_t left = 0;
  std::vector<aclrtStream> streams;
  EXPECT_EQ(aclrtGetStreamAvailableNum(&left), ACL_SUCCESS);
  ASSERT_GT(left, 1000u);
  for (uint32_t i = 0; i < left; ++i) streams.push_back(NewStream());
  uint32_t none = 99;
  EXPECT_EQ(aclrtGetStreamAvailableNum(&none), ACL_SUCCESS);
  EXPECT_EQ(none, 0u);
  aclrtStream more = nullptr;
  EXPECT_EQ(aclrtCreateStream(&more), ACL_ERROR_RT_NO_STREAM_RESOURCE);
  for (aclrtStream stream : streams) EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateStream(&more), ACL_SUCCESS);
}

TEST_F(Stream, FailureModeIsSetOnce) {
  aclrtStream stream = NewStream();
  aclrtStreamAttrValue value = {};
  EXPECT_EQ(aclrtSetStreamFailureMode(stream, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE), ACL_SUCCESS);
  EXPECT_NE(aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value), ACL_SUCCESS);
  EXPECT_EQ(value.failureMode, 1u);
}

TEST_F(Stream, Attributes) {
  aclrtStream stream = NewStream();
  aclrtStreamAttrValue value = {};
  value.userCustomTag = 42;
  EXPECT_EQ(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value), ACL_SUCCESS);
  value = {};
  EXPECT_EQ(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value), ACL_SUCCESS);
  EXPECT_EQ(value.userCustomTag, 42u);
  value.streamPriority = 3;
  EXPECT_EQ(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value), ACL_SUCCESS);
  value = {};
  EXPECT_EQ(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value), ACL_SUCCESS);
  EXPECT_EQ(value.streamPriority, 3u);
  uint32_t priority = 9;
  EXPECT_EQ(aclrtStreamGetPriority(stream, &priority), ACL_SUCCESS);
  EXPECT_EQ(priority, 3u);
  EXPECT_NE(aclrtSetStreamAttribute(stream, static_cast<aclrtStreamAttr>(77), &value), ACL_SUCCESS);
  EXPECT_NE(aclrtGetStreamAttribute(stream, static_cast<aclrtStreamAttr>(77), &value), ACL_SUCCESS);
  uint32_t on = 9;
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(stream, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetStreamOverflowSwitch(stream, &on), ACL_SUCCESS);
  EXPECT_EQ(on, 1u);
}

TEST_F(Stream, CoreLimits) {
  aclrtStream stream = NewStream();
  uint32_t all = 0, value = 0;
  EXPECT_EQ(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, &all), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, all + 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, 3), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, all);
  EXPECT_EQ(aclrtUseStreamResInCurrentThread(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 3u);
  EXPECT_EQ(aclrtUnuseStreamResInCurrentThread(stream), ACL_SUCCESS);
  EXPECT_NE(aclrtUnuseStreamResInCurrentThread(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetStreamResLimit(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, all);
}

struct Seen {
  std::vector<std::pair<aclrtStream, aclrtStreamState>> events;
  static void Note(aclrtStream stream, aclrtStreamState state, void* args) {
    static_cast<Seen*>(args)->events.push_back({stream, state});
  }
};

TEST_F(Stream, LivesAreReported) {
  Seen seen;
  ASSERT_EQ(aclrtRegStreamStateCallback("test", Seen::Note, &seen), ACL_SUCCESS);
  EXPECT_NE(aclrtRegStreamStateCallback("test", Seen::Note, &seen), ACL_SUCCESS) << "registered";
  aclrtStream stream = NewStream();
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_THAT(seen.events, testing::ElementsAre(testing::Pair(stream, ACL_RT_STREAM_STATE_CREATE_POST),
                                                testing::Pair(stream, ACL_RT_STREAM_STATE_DESTROY_PRE)));
  EXPECT_EQ(aclrtRegStreamStateCallback("test", nullptr, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(NewStream()), ACL_SUCCESS);
  EXPECT_EQ(seen.events.size(), 2u);
}

TEST_F(Stream, LivesOfDefaultStreamsAndOfThoseThatGoWithAContextAreReported) {
  Seen seen;
  aclrtContext context = nullptr, here = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&here), ACL_SUCCESS);
  ASSERT_EQ(aclrtRegStreamStateCallback("test", Seen::Note, &seen), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  aclrtStream stream = NewStream();
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  ASSERT_EQ(seen.events.size(), 4u);
  aclrtStream by_default = seen.events[0].first;
  EXPECT_THAT(seen.events, testing::ElementsAre(testing::Pair(by_default, ACL_RT_STREAM_STATE_CREATE_POST),
                                                testing::Pair(stream, ACL_RT_STREAM_STATE_CREATE_POST),
                                                testing::Pair(stream, ACL_RT_STREAM_STATE_DESTROY_PRE),
                                                testing::Pair(by_default, ACL_RT_STREAM_STATE_DESTROY_PRE)));
  seen.events.clear();
  EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_THAT(seen.events, testing::ElementsAre(testing::Pair(testing::_, ACL_RT_STREAM_STATE_CREATE_POST),
                                                testing::Pair(testing::_, ACL_RT_STREAM_STATE_DESTROY_PRE)));
  EXPECT_EQ(aclrtRegStreamStateCallback("test", nullptr, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetCurrentContext(here), ACL_SUCCESS);
}

TEST_F(Stream, AListenerOfAResetCannotSetTheDevice) {
  auto set = [](aclrtStream, aclrtStreamState state, void* code) {
    if (state == ACL_RT_STREAM_STATE_DESTROY_PRE) *static_cast<aclError*>(code) = aclrtSetDevice(1);
  };
  aclError code = 0;
  ASSERT_EQ(aclrtRegStreamStateCallback("test", set, &code), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(code, ACL_ERROR_RT_CONTEXT_NULL) << "it would wait for the reset";
  EXPECT_EQ(aclrtRegStreamStateCallback("test", nullptr, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST_F(Stream, StreamsOverlap) {
  aclrtStream first = NewStream(), second = NewStream();
  uint64_t* word = NewWord();
  // Each waits for what the other writes: they end only when both run at a time.
  EXPECT_EQ(aclrtValueWait(word, 1, ACL_VALUE_WAIT_EQ, first), ACL_SUCCESS);
  Write(word + 1, 1, first);
  Write(word, 1, second);
  EXPECT_EQ(aclrtValueWait(word + 1, 1, ACL_VALUE_WAIT_EQ, second), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
}

TEST_F(Stream, ManyThreadsMaySubmit) {
  aclrtStream stream = NewStream();
  uint64_t* words = NewWord();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([=] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      for (uint64_t i = 1; i <= 2000; ++i) Write(words + t, i, stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_THAT(std::vector<uint64_t>(words, words + 4), testing::Each(2000u));
}

}  // namespace
}  // namespace conformance
