// Devices: choice, reference count, waiting, peers, what they have.
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "runtime_fixture.h"

namespace conformance {
namespace {

class Device : public RuntimeTest {
 protected:
  static int32_t Current() {
    int32_t device = -1;
    EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
    return device;
  }
};

TEST_F(Device, CountAndChoice) {
  uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(Current(), 0);
  EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(Current(), 1);
  EXPECT_EQ(aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(Current(), 1);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
}

TEST_F(Device, AThreadHasNoneUntilItChooses) {
  std::thread([] {
    int32_t device = -1;
    EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    EXPECT_EQ(Current(), 1);
    EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  }).join();
  EXPECT_EQ(Current(), 0);
}

TEST_F(Device, ResetsAreCounted) {
  aclrtStream stream = NewStream();
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << "one use is left";
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_CONTEXT_NULL) << "gone with the device";
  EXPECT_NE(aclrtResetDevice(0), ACL_SUCCESS) << "nobody uses it";
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(Device, ForceIgnoresTheCount) {
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
  EXPECT_NE(aclrtResetDeviceForce(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST_F(Device, RunMode) {
  aclrtRunMode mode = ACL_DEVICE;
  EXPECT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_HOST);
}

TEST(RunMode, OfTheEnvironment) {
  aclrtRunMode mode = ACL_HOST;
  setenv("BELAY_RUN_MODE", "device", 1);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_DEVICE);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  unsetenv("BELAY_RUN_MODE");
}

TEST_F(Device, SynchronizeWaitsForEveryStream) {
  aclrtStream first = NewStream(), second = NewStream();
  uint64_t* word = NewWord();
  Gate gate;
  gate.Close(first);
  EXPECT_EQ(aclrtValueWrite(word, 1, 0, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(1), ACL_ERROR_RT_WAIT_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(-2), ACL_ERROR_RT_PARAM_INVALID);
  gate.Open();
  EXPECT_EQ(aclrtMemsetAsync(word + 1, 8, 1, 8, second), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(word[0], 1u);
  EXPECT_EQ(word[1], 0x0101010101010101u);
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(-1), ACL_SUCCESS);
}

TEST_F(Device, AbortDropsWhatIsQueued) {
  aclrtStream stream = NewStream();
  uint64_t* word = NewWord();
  Gate gate;
  gate.Close(stream);
  EXPECT_EQ(aclrtValueWrite(word, 1, 0, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceTaskAbort(0, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_DEVICE_TASK_ABORT);
  EXPECT_EQ(*word, 0u);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_DEVICE_TASK_ABORT) << "the other streams";
  EXPECT_EQ(aclrtValueWrite(word, 2, 0, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << "it was told once";
  EXPECT_EQ(*word, 2u);
  EXPECT_EQ(aclrtDeviceTaskAbort(9, 0), ACL_ERROR_RT_INVALID_DEVICEID);
}

TEST_F(Device, Peers) {
  int32_t can = -1;
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 1), ACL_SUCCESS);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 0), ACL_SUCCESS);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 9), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 1), ACL_ERROR_RT_PARAM_INVALID) << "reserved flag";
  EXPECT_NE(aclrtDeviceEnablePeerAccess(0, 0), ACL_SUCCESS) << "itself";
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(0), ACL_ERROR_RT_INVALID_DEVICEID) << "itself";
}

struct Told {
  std::vector<std::string> lines;
  static void State(uint32_t device, aclrtDeviceState state, void* args) {
    constexpr const char* kNames[] = {"before set", "after set", "before reset", "after reset"};
    static_cast<Told*>(args)->lines.push_back(std::string(kNames[state]) + " " + std::to_string(device));
  }
  static int32_t Abort(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void* args) {
    const std::string when = stage == ACL_RT_DEVICE_TASK_ABORT_PRE ? "before" : "after";
    static_cast<Told*>(args)->lines.push_back(when + " " + std::to_string(device) + " " +
                                              std::to_string(timeout));
    return 1;
  }
};

// acl page 1993: callbacks of one name each, until they are taken back; not on calls that name no device.
TEST_F(Device, StatesAreReported) {
  Told told;
  EXPECT_EQ(aclrtRegDeviceStateCallback("", Told::State, &told), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(aclrtRegDeviceStateCallback("test", Told::State, &told), ACL_SUCCESS);
  EXPECT_EQ(aclrtRegDeviceStateCallback("test", Told::State, &told), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetDevice(9), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDeviceForce(1), ACL_SUCCESS);
  EXPECT_THAT(told.lines,
              testing::ElementsAre("before set 1", "after set 1", "before reset 1", "after reset 1",
                                   "before set 1", "after set 1", "before reset 1", "after reset 1"));
  EXPECT_EQ(aclrtResetDevice(1), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(told.lines.back(), "before reset 1") << "it did not come to a reset";
  EXPECT_EQ(aclrtRegDeviceStateCallback("test", nullptr, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(told.lines.size(), 9u);
}

// acl page 2001.
TEST_F(Device, AbortsAreReported) {
  Told told;
  EXPECT_EQ(aclrtSetDeviceTaskAbortCallback("", Told::Abort, &told), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(aclrtSetDeviceTaskAbortCallback("test", Told::Abort, &told), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDeviceTaskAbortCallback("test", Told::Abort, &told), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDeviceTaskAbort(0, 500), ACL_SUCCESS);
  EXPECT_THAT(told.lines, testing::ElementsAre("before 0 500", "after 0 500"));
  EXPECT_EQ(aclrtSetDeviceTaskAbortCallback("test", nullptr, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceTaskAbort(0, 0), ACL_SUCCESS);
  EXPECT_EQ(told.lines.size(), 2u);
}

TEST_F(Device, WhatItHas) {
  int64_t cores = 0, vector = 0, bytes = 0, same = 0;
  size_t free = 0, total = 0;
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_CUBE_CORE_NUM, &cores), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_VECTOR_CORE_NUM, &vector), ACL_SUCCESS);
  EXPECT_GT(cores, 0);
  EXPECT_GT(vector, 0);
  EXPECT_EQ(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &same), ACL_SUCCESS);
  EXPECT_EQ(same, cores);
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &bytes), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  EXPECT_EQ(static_cast<size_t>(bytes), total);
  int64_t systems[] = {7, 8};
  for (uint32_t device : {0, 1})
    EXPECT_EQ(aclrtGetDeviceInfo(device, ACL_DEV_ATTR_SMP_ID, &systems[device]), ACL_SUCCESS);
  EXPECT_EQ(systems[0], systems[1]) << "one operating system";
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_CUST_OP_PRIVILEGE, &same), ACL_SUCCESS);
  EXPECT_EQ(same, 0);
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE, &same),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(ACL_DEV_ATTR_SUPER_POD_DEVIDE_ID, ACL_DEV_ATTR_SUPER_POD_DEVICE_ID) << "as 8.5 spells it";
  EXPECT_EQ(aclrtGetDeviceInfo(7, ACL_DEV_ATTR_CUBE_CORE_NUM, &cores), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_NE(aclrtGetDeviceInfo(0, static_cast<aclrtDevAttr>(12345), &cores), ACL_SUCCESS);
  EXPECT_NE(aclGetDeviceCapability(0, ACL_DEVICE_INFO_UNDEFINED, &cores), ACL_SUCCESS);
  EXPECT_EQ(aclGetDeviceCapability(7, ACL_DEVICE_INFO_L2_SIZE, &cores), ACL_ERROR_RT_INVALID_DEVICEID);
}

TEST_F(Device, CoreLimits) {
  uint32_t all = 0, value = 0;
  EXPECT_EQ(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &all), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, all + 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 2), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 2u);
  EXPECT_EQ(aclrtResetDeviceResLimit(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, all);
}

TEST_F(Device, Utilization) {
  aclrtUtilizationInfo info = {};
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, &info), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, &info), ACL_SUCCESS);
  for (int32_t percent : {info.cubeUtilization, info.vectorUtilization, info.aicpuUtilization}) {
    EXPECT_GE(percent, 0);
    EXPECT_LE(percent, 100);
  }
  EXPECT_EQ(info.memoryUtilization, -1) << "as on a card";
  aclrtStream stream = NewStream();
  auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < until) {
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(1, &info), ACL_SUCCESS);
  EXPECT_GT(info.cubeUtilization, 0) << "the process was busy since it was last asked";
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(99, &info), 107001);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(-1, &info), 107001);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, nullptr), 100000);
  info.utilizationExtend = reinterpret_cast<aclrtUtilizationExtendInfo*>(&info);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, &info), 107000);
}

TEST_F(Device, Identity) {
  aclrtUuid first, second;
  aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_END;
  int32_t pid = 0, logic = -1;
  EXPECT_EQ(aclrtDeviceGetUuid(0, &first), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceGetUuid(1, &second), ACL_SUCCESS);
  EXPECT_NE(std::memcmp(first.bytes, second.bytes, sizeof first.bytes), 0);
  EXPECT_EQ(aclrtDeviceGetUuid(5, &first), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtQueryDeviceStatus(0, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_RT_DEVICE_STATUS_NORMAL);
  EXPECT_EQ(aclrtDeviceGetBareTgid(&pid), ACL_SUCCESS);
  EXPECT_GT(pid, 0);
  EXPECT_EQ(aclrtGetLogicDevIdByUserDevId(1, &logic), ACL_SUCCESS);
  EXPECT_EQ(logic, 1);
  EXPECT_EQ(aclrtGetLogicDevIdByUserDevId(5, &logic), ACL_ERROR_RT_INVALID_DEVICEID);
}

TEST_F(Device, OverflowMode) {
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_RT_PARAM_INVALID);
}

}  // namespace
}  // namespace conformance
