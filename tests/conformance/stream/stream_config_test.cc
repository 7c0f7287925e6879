// Streams made from a set of options, and streams that are stopped.
#include "fixture.h"

namespace {

using namespace conformance;

constexpr int kStale = ACL_ERROR_RT_INVALID_HANDLE;

class StreamConfig : public Started {};

TEST_F(StreamConfig, MakesAStream) {
  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  ASSERT_NE(config, nullptr) << TakeMessage();
  void* work = config;
  size_t size = 4096;
  size_t flag = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC;
  uint32_t priority = 3;
  EXPECT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_WORK_ADDR_PTR, &work, sizeof work));
  EXPECT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_WORK_SIZE, &size, sizeof size));
  EXPECT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &flag, sizeof flag));
  EXPECT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, sizeof priority));
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStreamV2(&stream, config));
  EXPECT_OK(aclrtDestroyStreamConfigHandle(config));
  uint32_t got = 0;
  EXPECT_OK(aclrtStreamGetPriority(stream, &got));
  EXPECT_EQ(got, 3u);
  EXPECT_OK(aclrtStreamGetFlags(stream, &got));
  EXPECT_EQ(got, flag);
  bool ran = false;
  Call(stream, [&] { ran = true; });
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_TRUE(ran);
}

TEST_F(StreamConfig, AnEmptySetMakesAnOrdinaryStream) {
  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStreamV2(&stream, config));
  uint32_t got = 9;
  EXPECT_OK(aclrtStreamGetPriority(stream, &got));
  EXPECT_EQ(got, 0u);
  EXPECT_OK(aclrtStreamGetFlags(stream, &got));
  EXPECT_EQ(got, 0u);
  EXPECT_OK(aclrtDestroyStreamConfigHandle(config));
}

TEST_F(StreamConfig, BadOptions) {
  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  uint32_t priority = 3;
  EXPECT_REFUSED(107000, aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, 8),
                 "takes 4 bytes");
  EXPECT_REFUSED(107000, aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &priority, 4), "takes 8 bytes");
  EXPECT_REFUSED(107000, aclrtSetStreamConfigOpt(config, static_cast<aclrtStreamConfigAttr>(9), &priority, 4),
                 "attr = 9");
  EXPECT_REFUSED(100000, aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, nullptr, 4), "attrValue");
  EXPECT_REFUSED(100000, aclrtSetStreamConfigOpt(nullptr, ACL_RT_STREAM_PRIORITY, &priority, 4), "handle");
  EXPECT_OK(aclrtDestroyStreamConfigHandle(config));
}

TEST_F(StreamConfig, SetsThatAreNone) {
  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  EXPECT_OK(aclrtDestroyStreamConfigHandle(config));
  uint32_t priority = 3;
  aclrtStream stream = nullptr;
  EXPECT_REFUSED(kStale, aclrtDestroyStreamConfigHandle(config), "stream options");
  EXPECT_REFUSED(kStale, aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, 4),
                 "stream options");
  EXPECT_REFUSED(kStale, aclrtCreateStreamV2(&stream, config), "stream options");
  for (void* handle : ForeignHandles()) {
    auto* foreign = static_cast<aclrtStreamConfigHandle*>(handle);
    EXPECT_REFUSED(kStale, aclrtDestroyStreamConfigHandle(foreign), "stream options");
    EXPECT_REFUSED(kStale, aclrtCreateStreamV2(&stream, foreign), "stream options");
  }
  EXPECT_REFUSED(100000, aclrtCreateStreamV2(&stream, nullptr), "handle");
  EXPECT_REFUSED(100000, aclrtDestroyStreamConfigHandle(nullptr), "handle");
}

TEST_F(StreamConfig, StopIsForStreamsOfTheDevice) {
  EXPECT_REFUSED(207000, aclrtStreamStop(NewStream()), "ACL_STREAM_DEVICE_USE_ONLY");
  EXPECT_REFUSED(100000, aclrtStreamStop(nullptr), "stream");
  for (void* handle : ForeignHandles()) EXPECT_REFUSED(kStale, aclrtStreamStop(handle), "stream");
  aclrtStream device = nullptr;
  EXPECT_OK(aclrtCreateStreamWithConfig(&device, 0, ACL_STREAM_DEVICE_USE_ONLY));
  EXPECT_OK(aclrtStreamStop(device)) << "nothing runs on it";
  {
    Hold hold(device);
    hold.AwaitReached();
    EXPECT_REFUSED(207000, aclrtStreamStop(device), "runs a task");
  }
  EXPECT_OK(aclrtDestroyStream(device));
  EXPECT_REFUSED(kStale, aclrtStreamStop(device), "stream");
}

}  // namespace
