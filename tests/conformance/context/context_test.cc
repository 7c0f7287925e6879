// Contexts: explicit ones, the current one, the default one.
#include "runtime_fixture.h"

namespace conformance {
namespace {

class Context : public RuntimeTest {
 protected:
  static aclrtContext Current() {
    aclrtContext context = nullptr;
    EXPECT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
    return context;
  }
};

TEST_F(Context, ANewOneIsCurrent) {
  aclrtContext old = Current(), made = nullptr;
  int32_t device = -1;
  ASSERT_EQ(aclrtCreateContext(&made, 1), ACL_SUCCESS);
  EXPECT_NE(made, old);
  EXPECT_EQ(Current(), made);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(aclrtSetCurrentContext(old), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(aclrtDestroyContext(made), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetCurrentContext(made), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyContext(made), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtCreateContext(&made, 9), ACL_ERROR_RT_INVALID_DEVICEID);
}

TEST_F(Context, TheDefaultOneIsSharedAndStays) {
  aclrtContext mine = Current();
  std::thread([mine] {
    aclrtContext context = nullptr;
    EXPECT_EQ(aclrtGetCurrentContext(&context), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(Current(), mine);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  }).join();
  EXPECT_EQ(aclrtDestroyContext(mine), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(Current(), mine);
}

TEST_F(Context, EachHasItsStreams) {
  aclrtContext home = Current(), other = nullptr;
  aclrtStream stream = NewStream();
  uint64_t* word = NewWord();
  ASSERT_EQ(aclrtCreateContext(&other, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtMemsetAsync(word, 8, 1, 8, stream), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtMemsetAsync(word, 8, 2, 8, nullptr), ACL_SUCCESS) << "its own default stream";
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(*word, 0x0202020202020202u);
  EXPECT_EQ(aclrtSetCurrentContext(home), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(other), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

TEST_F(Context, DestroyingOneEndsItsStreams) {
  aclrtContext home = Current(), other = nullptr;
  ASSERT_EQ(aclrtCreateContext(&other, 0), ACL_SUCCESS);
  aclrtStream stream = NewStream();
  EXPECT_EQ(aclrtDestroyContext(other), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetCurrentContext(home), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(Context, TheLastChoiceOfAThreadCounts) {
  aclrtContext home = Current(), made = nullptr;
  ASSERT_EQ(aclrtCreateContext(&made, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(Current(), home);
  EXPECT_EQ(aclrtSetCurrentContext(made), ACL_SUCCESS);
  EXPECT_EQ(Current(), made);
  EXPECT_EQ(aclrtDestroyContext(made), ACL_SUCCESS);
}

TEST_F(Context, StateOfTheDefaultOne) {
  uint32_t flags = 99;
  int32_t active = -1;
  EXPECT_EQ(aclrtGetPrimaryCtxState(0, &flags, &active), ACL_SUCCESS);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(aclrtGetPrimaryCtxState(1, nullptr, &active), ACL_SUCCESS);
  EXPECT_EQ(active, 0);
  EXPECT_EQ(aclrtGetPrimaryCtxState(9, &flags, &active), ACL_ERROR_RT_INVALID_DEVICEID);
}

TEST_F(Context, Options) {
  int64_t value = -1;
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_NE(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 5), ACL_SUCCESS);
}

}  // namespace
}  // namespace conformance
