// Start and end of use, error texts, versions, options, the log.
#include "runtime/rt.h"
#include "runtime_fixture.h"
#include "temp_file.h"
#include "toolchain/prof_api.h"

namespace conformance {
namespace {

TEST(Init, CallsAreCounted) {
  uint64_t left = 99;
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclFinalizeReference(&left), ACL_SUCCESS);
  EXPECT_EQ(left, 1u);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclFinalizeReference(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclFinalizeReference(&left), ACL_ERROR_REPEAT_FINALIZE);
}

TEST(Init, FinalizeEndsAllAtOnce) {
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS) << "it may start again";
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(Init, DefaultDeviceOfTheFile) {
  TempFile file(R"({"defaultDevice": {"default_device": "1"}})");
  int32_t device = -1;
  ASSERT_EQ(aclInit(file.path()), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 0) << "an explicit choice wins";
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(Init, BadFilesAreRefused) {
  EXPECT_EQ(aclInit("/nowhere/acl.json"), ACL_ERROR_INVALID_FILE);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("/nowhere/acl.json"));
  TempFile syntax("{\n  \"err_msg_mode\": \"1\",\n  oops\n}");
  EXPECT_EQ(aclInit(syntax.path()), ACL_ERROR_PARSE_FILE);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("3")) << "the line";
  TempFile number("{\n  \"size\": 1e999}");
  EXPECT_EQ(aclInit(number.path()), ACL_ERROR_PARSE_FILE);
  EXPECT_THAT(LastMessage(), testing::AllOf(testing::HasSubstr(":2:11"), testing::HasSubstr("1e999")));
  TempFile value(R"({"err_msg_mode": "7"})");
  EXPECT_NE(aclInit(value.path()), ACL_SUCCESS);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("err_msg_mode"));
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE) << "none of them started anything";
}

TEST(Init, AnEmptyObjectIsAFile) {
  TempFile file("{}");
  EXPECT_EQ(aclInit(file.path()), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(Init, ErrorsOfTheProcess) {
  TempFile file(R"({"err_msg_mode": "1"})");
  ASSERT_EQ(aclInit(file.path()), ACL_SUCCESS);
  std::thread([] { aclrtSetDevice(999); }).join();
  EXPECT_THAT(LastMessage(), testing::HasSubstr("999"));
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

class Errors : public RuntimeTest {};

TEST_F(Errors, TextsAreGivenOnce) {
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr) << "success leaves none";
  EXPECT_EQ(aclrtSetDevice(999), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_THAT(LastMessage(), testing::AllOf(testing::HasSubstr("aclrtSetDevice"), testing::HasSubstr("999")));
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST_F(Errors, TheNewestTextComesFirst) {
  EXPECT_NE(aclrtSetDevice(777), ACL_SUCCESS);
  EXPECT_NE(aclrtSetDevice(888), ACL_SUCCESS);
  std::string text = LastMessage();
  EXPECT_LT(text.find("888"), text.find("777"));
}

TEST_F(Errors, BelongToTheThread) {
  std::thread([] { EXPECT_NE(aclrtSetDevice(999), ACL_SUCCESS); }).join();
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
}

TEST_F(Errors, TheLastCodeIsKeptUntilAskedFor) {
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(999), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
}

TEST(Versions, WithoutInit) {
  int32_t major = 0, minor = 0, patch = -1;
  EXPECT_EQ(aclrtGetVersion(&major, &minor, &patch), ACL_SUCCESS);
  EXPECT_EQ(major, ACL_MAJOR_VERSION);
  EXPECT_EQ(minor, ACL_MINOR_VERSION);
  EXPECT_EQ(patch, ACL_PATCH_VERSION);
  EXPECT_EQ(std::string(aclrtGetSocName()).rfind("Ascend", 0), 0u);
}

TEST(Profiling, TheClockGoesForwardAndNothingIsTaken) {
  const uint64_t before = MsprofSysCycleTime();
  EXPECT_GT(before, 0u);
  EXPECT_GE(MsprofSysCycleTime(), before);
  EXPECT_NE(MsprofReportApi(0, nullptr), 0);
  EXPECT_NE(MsprofRegisterCallback(1, nullptr), 0);
}

// A program with kernels for a card loads, and is told when it launches one.
TEST(Kernels, AreRefused) {
  void* handle = nullptr;
  EXPECT_EQ(rtDevBinaryRegister(nullptr, &handle), 207000);
  EXPECT_EQ(rtKernelLaunch(nullptr, 1, nullptr, 0, nullptr, nullptr), 207000);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("rtKernelLaunch"));
}

// torch_npu asks whether there is a device, and calls aclInit only then.
TEST(DeviceCount, WithoutInit) {
  uint32_t before = 0, after = 0;
  aclrtRunMode mode = ACL_DEVICE;
  EXPECT_EQ(aclrtGetDeviceCount(&before), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS) << "samples of the vendor ask first";
  EXPECT_EQ(mode, ACL_HOST);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDeviceCount(&after), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_GT(before, 0u);
  EXPECT_EQ(before, after);
}

TEST(Versions, OfPackages) {
  aclCANNPackageVersion version;
  char text[ACL_PKG_VERSION_MAX_SIZE];
  char operators[] = "ops_math";  // torch_npu asks
  EXPECT_EQ(aclsysGetVersionStr(operators, text), ACL_SUCCESS);
  char runtime[] = "runtime", unknown[] = "coffee";
  EXPECT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version), ACL_SUCCESS);
  EXPECT_EQ(aclsysGetVersionStr(runtime, text), ACL_SUCCESS);
  EXPECT_STREQ(text, version.version);
  EXPECT_EQ(std::string(text).find(std::string(version.majorVersion) + "."), 0u);
  EXPECT_EQ(aclsysGetVersionStr(unknown, text), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclsysGetCANNVersion(static_cast<aclCANNPackageName>(50), &version), ACL_ERROR_INVALID_PARAM);
}

TEST(Abilities, AreListed) {
  const aclCannAttr* list = nullptr;
  size_t count = 0;
  int32_t value = -1;
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclGetCannAttributeList(&list, &count), ACL_SUCCESS);
  ASSERT_EQ(count, 3u);
  for (size_t i = 0; i < count; ++i) EXPECT_EQ(aclGetCannAttribute(list[i], &value), ACL_SUCCESS);
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_BF16, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &value), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

class Options : public RuntimeTest {};

TEST_F(Options, OfTheProcess) {
  int64_t value = -1;
  EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(aclrtGetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 0) << "of an option that was never set";
  EXPECT_NE(aclrtSetSysParamOpt(static_cast<aclSysParamOpt>(99), 1), ACL_SUCCESS);
}

TEST(Log, LinesOfTheProgram) {
  setenv("ASCEND_GLOBAL_LOG_LEVEL", "1", 1);
  setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
  testing::internal::CaptureStdout();
  ACL_APP_LOG(ACL_INFO, "%d apples", 3);
  aclAppLog(ACL_DEBUG, "f", "file.c", 7, "too quiet");
  aclAppLog(ACL_ERROR, nullptr, nullptr, 0, "plain");
  std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, testing::AllOf(testing::HasSubstr("[INFO] APP("), testing::HasSubstr("3 apples"),
                                   testing::HasSubstr("init_test.cc"), testing::HasSubstr("plain")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("too quiet")));
}

}  // namespace
}  // namespace conformance
