// The callback for failed tasks. A copy from host to host is accepted by a stream, and fails there.
#include "runtime_fixture.h"

namespace conformance {
namespace {

struct Told {
  int calls;
  uint32_t task, stream, device, code;
};
Told g_told;

void Note(aclrtExceptionInfo* info) {
  ++g_told.calls;
  g_told.task = aclrtGetTaskIdFromExceptionInfo(info);
  g_told.stream = aclrtGetStreamIdFromExceptionInfo(info);
  g_told.device = aclrtGetDeviceIdFromExceptionInfo(info);
  g_told.code = aclrtGetErrorCodeFromExceptionInfo(info);
}

class ExceptionInfo : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    g_told = {};
    ASSERT_EQ(aclrtMallocHost(&pinned_, 128), ACL_SUCCESS);
  }
  void FailOn(aclrtStream stream) {
    EXPECT_EQ(
        aclrtMemcpyAsync(pinned_, 64, static_cast<char*>(pinned_) + 64, 64, ACL_MEMCPY_HOST_TO_HOST, stream),
        ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  }
  void* pinned_ = nullptr;
};

TEST_F(ExceptionInfo, SaysWhatFailed) {
  aclrtStream stream = NewStream();
  int32_t id = -1;
  EXPECT_EQ(aclrtStreamGetId(stream, &id), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetExceptionInfoCallback(Note), ACL_SUCCESS);
  FailOn(stream);
  EXPECT_EQ(g_told.calls, 1) << "before the waiting host learns of it";
  EXPECT_EQ(g_told.stream, static_cast<uint32_t>(id));
  EXPECT_EQ(g_told.device, 0u);
  EXPECT_EQ(g_told.code, static_cast<uint32_t>(ACL_ERROR_RT_FEATURE_NOT_SUPPORT));
  EXPECT_NE(g_told.task, 0xFFFFFFFFu);
  EXPECT_EQ(aclrtSetExceptionInfoCallback(nullptr), ACL_SUCCESS);
  FailOn(stream);
  EXPECT_EQ(g_told.calls, 1);
}

TEST_F(ExceptionInfo, NothingIsKnownOutside) {
  EXPECT_EQ(aclrtGetTaskIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  EXPECT_EQ(aclrtGetStreamIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  EXPECT_EQ(aclrtGetDeviceIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  EXPECT_EQ(aclrtGetErrorCodeFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  auto* stray = static_cast<aclrtExceptionInfo*>(pinned_);
  EXPECT_EQ(aclrtGetTaskIdFromExceptionInfo(stray), 0xFFFFFFFFu);
}

}  // namespace
}  // namespace conformance
