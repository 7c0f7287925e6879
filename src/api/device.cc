// Devices: choosing, resetting, waiting for all of one, peers, what they are.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <mutex>
#include <utility>

#include "api/convert.h"
#include "api/handlers.h"
#include "api/log.h"
#include "api/process_options.h"
#include "api/state_callbacks.h"
#include "api/wait.h"
#include "base/clock.h"
#include "base/codes.h"
#include "runtime/process.h"
#include "runtime/settings.h"
#include "runtime/thread_engine.h"

namespace belay::api {
namespace {

// Which of all devices this is, where ASCEND_RT_VISIBLE_DEVICES hides some.
int WhichOfAll(int device) {
  return rt::CurrentSettings().visible[static_cast<size_t>(rt::DeviceAt(device).id())];
}

// How much of the cores that run tasks the process has used since it was last asked, or since its start.
int32_t BusyPercent() {
  static std::mutex lock;
  static int64_t last_wall = 0;
  static int64_t last_cpu = 0;
  auto read = [](clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  };
  std::lock_guard guard(lock);
  int64_t wall = read(CLOCK_MONOTONIC);
  int64_t cpu = read(CLOCK_PROCESS_CPUTIME_ID);
  rt::ThreadEngine* engine = rt::TheThreadEngine();
  int64_t cores = engine == nullptr ? 1 : std::max(engine->workers(), 1);
  int64_t passed = std::max<int64_t>((wall - std::exchange(last_wall, wall)) * cores, 1);
  int64_t used = cpu - std::exchange(last_cpu, cpu);
  return static_cast<int32_t>(std::clamp<int64_t>(used * 100 / passed, 0, 100));
}

void SynchronizeDevice(const char* call, int64_t deadline_ns) {
  Surface(WaitForDevice(rt::CurrentContext().device(), call, deadline_ns));
}

void Reset(int id, bool force, const char* call) {
  RefuseInCallback(call);
  rt::Device& device = rt::DeviceAt(id);
  TellDeviceState(id, ACL_RT_DEVICE_STATE_RESET_PRE);
  device.Release(force);
  TellDeviceState(id, ACL_RT_DEVICE_STATE_RESET_POST);
  LogInfo(LogPlace::Here(), "{}: device {}", call, id);
}

// The current device, which is another one than `peer`.
rt::Device& DeviceBeside(int32_t peer) {
  rt::Device& device = rt::CurrentContext().device();
  if (&rt::DeviceAt(peer) == &device) {
    Fail(codes::kRtInvalidDeviceid, "peer-self", "device {} is the current device; name the other one", peer);
  }
  return device;
}

}  // namespace

void aclrtSetDevice(int32_t deviceId) {
  rt::Device& device = rt::DeviceAt(deviceId);
  TellDeviceState(deviceId, ACL_RT_DEVICE_STATE_SET_PRE);
  rt::SetCurrentContext(device.Use());
  TellDeviceState(deviceId, ACL_RT_DEVICE_STATE_SET_POST);
  LogInfo(LogPlace::Here(), "aclrtSetDevice: device {}", deviceId);
}

void aclrtResetDevice(int32_t deviceId) { Reset(deviceId, false, "aclrtResetDevice"); }
void aclrtResetDeviceForce(int32_t deviceId) { Reset(deviceId, true, "aclrtResetDeviceForce"); }

void aclrtGetDevice(int32_t* deviceId) { *deviceId = rt::CurrentContext().device().id(); }
// Programs ask this and the run mode before aclInit (torch_npu, samples of the vendor).
void aclrtGetDeviceCount(uint32_t* count) {
  *count = static_cast<uint32_t>(rt::SettingNow(&rt::Settings::devices));
}

void aclrtGetRunMode(aclrtRunMode* runMode) {
  *runMode = rt::SettingNow(&rt::Settings::device_mode) ? ACL_DEVICE : ACL_HOST;
}

void aclrtSynchronizeDevice() { SynchronizeDevice("aclrtSynchronizeDevice", -1); }
void aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  SynchronizeDevice("aclrtSynchronizeDeviceWithTimeout", DeadlineOf(timeout));
}

void aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
  RefuseInCallback("aclrtDeviceTaskAbort");
  int64_t deadline = timeout == 0 ? -1 : NowNs() + int64_t{timeout} * 1'000'000;
  rt::Device& device = rt::DeviceAt(deviceId);
  TellTaskAbort(deviceId, ACL_RT_DEVICE_TASK_ABORT_PRE, timeout);
  const bool ended = device.Abort(deadline);
  TellTaskAbort(deviceId, ACL_RT_DEVICE_TASK_ABORT_POST, timeout);
  if (!ended) {
    Fail(codes::kRtWaitTimeout, "wait-timeout",
         "a task of device {} still ran at the end of the time limit; call again to go on waiting for it",
         deviceId);
  }
}

void aclrtRegDeviceStateCallback(const char* regName, aclrtDeviceStateCallback callback, void* args) {
  RegisterDeviceStateCallback(regName, callback, args);
}

void aclrtSetDeviceTaskAbortCallback(const char* regName, aclrtDeviceTaskAbortCallback callback, void* args) {
  RegisterTaskAbortCallback(regName, callback, args);
}

// --- peers

void aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  *canAccessPeer = &rt::DeviceAt(deviceId) != &rt::DeviceAt(peerDeviceId) ? 1 : 0;
}

void aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  if (flags != 0) Fail(codes::kRtParamInvalid, "peer-flags", "flags = {}; it is reserved, pass 0", flags);
  DeviceBeside(peerDeviceId).peers.fetch_or(uint64_t{1} << peerDeviceId);
}

void aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  DeviceBeside(peerDeviceId).peers.fetch_and(~(uint64_t{1} << peerDeviceId));
}

// --- what devices are

void aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus) {
  rt::DeviceAt(deviceId);
  *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
}

void aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo* utilizationInfo) {
  rt::DeviceAt(deviceId);
  if (utilizationInfo->utilizationExtend != nullptr) {
    Fail(codes::kRtParamInvalid, "utilization-extend", "utilizationExtend is reserved; set it to null");
  }
  int32_t percent = BusyPercent();
  *utilizationInfo = {percent, percent, percent, -1, nullptr};
}

void aclrtDeviceGetBareTgid(int32_t* pid) { *pid = static_cast<int32_t>(getpid()); }

void aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid) {
  int which = WhichOfAll(deviceId);
  std::memcpy(uuid->bytes, "belay-device-", 13);
  uuid->bytes[13] = 0;
  uuid->bytes[14] = static_cast<char>(which >> 8);
  uuid->bytes[15] = static_cast<char>(which);
}

void aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t* const logicDevId) {
  *logicDevId = WhichOfAll(userDevid);
}

void aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
    Fail(codes::kRtParamInvalid, "overflow-mode", "mode = {}; use ACL_RT_OVERFLOW_MODE_SATURATION or _INFNAN",
         static_cast<int>(mode));
  }
  Options().saturation.store(mode);
}
void aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  *mode = static_cast<aclrtFloatOverflowMode>(Options().saturation.load());
}

}  // namespace belay::api
