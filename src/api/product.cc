// What the simulated product has: cores, caches, memory; and the limits on cores that programs set.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string_view>

#include "api/handlers.h"
#include "base/codes.h"
#include "base/error.h"
#include "runtime/context.h"
#include "runtime/memory.h"
#include "runtime/settings.h"

namespace belay::api {
namespace {

struct Product {
  std::string_view soc;  // prefix of BELAY_SOC
  uint32_t cube_cores;
  uint32_t vector_cores;
  uint32_t aicpu_cores;
  int64_t l2_bytes;
};

constexpr int64_t kMiB = 1 << 20;
// The first one stands for every name that is not in the list.
constexpr Product kProducts[] = {
    {"Ascend910B3", 20, 40, 6, 192 * kMiB},  {"Ascend910B1", 24, 48, 6, 192 * kMiB},
    {"Ascend910B2", 24, 48, 6, 192 * kMiB},  {"Ascend910B4", 20, 40, 6, 96 * kMiB},
    {"Ascend910_93", 24, 48, 6, 192 * kMiB}, {"Ascend310P", 8, 7, 4, 16 * kMiB},
};

const Product& ProductInUse() {
  const std::string& soc = rt::CurrentSettings().soc;
  for (const Product& product : kProducts) {
    if (soc.starts_with(product.soc)) return product;
  }
  return kProducts[0];
}

int CheckedDevice(uint32_t id) { return rt::DeviceAt(static_cast<int>(id)).id(); }

// Limits of a device, 0: none. They are kept and reported; the CPU's cores are not limited by them.
constexpr int kMostDevices = 64;
std::atomic<uint32_t> g_limits[kMostDevices][2];

std::atomic<uint32_t>& LimitOf(int device, aclrtDevResLimitType type) {
  if (type != ACL_RT_DEV_RES_CUBE_CORE && type != ACL_RT_DEV_RES_VECTOR_CORE) {
    Fail(codes::kRtParamInvalid, "core-kind", "type = {}; use ACL_RT_DEV_RES_CUBE_CORE or _VECTOR_CORE",
         static_cast<int>(type));
  }
  return g_limits[rt::DeviceAt(device).id() % kMostDevices][type];
}

uint32_t CoresOf(aclrtDevResLimitType type) {
  return type == ACL_RT_DEV_RES_CUBE_CORE ? ProductInUse().cube_cores : ProductInUse().vector_cores;
}

// Limits of streams, and the stream whose limits a thread uses.
using StreamLimits = std::array<uint32_t, 2>;
std::mutex g_stream_lock;
std::map<uint32_t, StreamLimits>& LimitsOfStreams() {
  static auto* limits = new std::map<uint32_t, StreamLimits>;
  return *limits;
}
thread_local int64_t t_stream_in_use = -1;

uint32_t StreamLimit(uint32_t stream, aclrtDevResLimitType type) {
  std::lock_guard guard(g_stream_lock);
  auto it = LimitsOfStreams().find(stream);
  return it == LimitsOfStreams().end() ? 0 : it->second[type];
}

void CheckLimit(aclrtDevResLimitType type, uint32_t value) {
  if (value != 0 && value <= CoresOf(type)) return;
  Fail(codes::kRtParamInvalid, "core-limit", "value = {}; the device has {} such cores", value,
       CoresOf(type));
}

// For the whole process, in microseconds; kept and reported, nothing is stopped by them.
std::atomic<uint64_t> g_operator_limit_us{0};

uint32_t LimitInForce(int device, aclrtDevResLimitType type) {
  uint32_t limit = LimitOf(device, type).load();
  return limit == 0 ? CoresOf(type) : limit;
}

}  // namespace

void aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  int device = CheckedDevice(deviceId);
  const Product& product = ProductInUse();
  switch (attr) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
      *value = product.aicpu_cores;
      break;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      *value = product.cube_cores;
      break;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      *value = product.vector_cores;
      break;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      *value = static_cast<int64_t>(rt::DeviceMemoryInfo(device).total);
      break;
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      *value = product.l2_bytes;
      break;
    case ACL_DEV_ATTR_PHY_CHIP_ID:
      *value = device;
      break;
    case ACL_DEV_ATTR_SMP_ID:  // all devices are below one operating system
    case ACL_DEV_ATTR_CUST_OP_PRIVILEGE:
    case ACL_DEV_ATTR_IS_VIRTUAL:
      *value = 0;
      break;
    default:
      Fail(codes::kRtFeatureNotSupport, "device-attribute", "attribute {} means nothing on {}",
           static_cast<int>(attr), rt::CurrentSettings().soc);
  }
}

void aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  CheckedDevice(deviceId);
  const Product& product = ProductInUse();
  switch (deviceInfo) {
    case ACL_DEVICE_INFO_AI_CORE_NUM:
      *value = product.cube_cores;
      break;
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
      *value = product.vector_cores;
      break;
    case ACL_DEVICE_INFO_L2_SIZE:
      *value = product.l2_bytes;
      break;
    default:
      Fail(codes::kInvalidParam, "device-attribute", "{} is none of aclDeviceInfo",
           static_cast<int>(deviceInfo));
  }
}

void aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  std::atomic<uint32_t>& limit = LimitOf(deviceId, type);
  CheckLimit(type, value);
  limit.store(value);
}

void aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
  *value = LimitInForce(deviceId, type);
}

void aclrtResetDeviceResLimit(int32_t deviceId) {
  LimitOf(deviceId, ACL_RT_DEV_RES_CUBE_CORE).store(0);
  LimitOf(deviceId, ACL_RT_DEV_RES_VECTOR_CORE).store(0);
}

void aclrtSetStreamResLimit(rt::Stream& stream, aclrtDevResLimitType type, uint32_t value) {
  LimitOf(stream.context().device().id(), type);
  CheckLimit(type, value);
  std::lock_guard guard(g_stream_lock);
  LimitsOfStreams()[stream.id()][type] = value;
}

void aclrtGetStreamResLimit(rt::Stream& stream, aclrtDevResLimitType type, uint32_t* value) {
  uint32_t device = LimitInForce(stream.context().device().id(), type);
  uint32_t limit = StreamLimit(stream.id(), type);
  *value = limit == 0 ? device : limit;
}

void aclrtResetStreamResLimit(rt::Stream& stream) {
  std::lock_guard guard(g_stream_lock);
  LimitsOfStreams().erase(stream.id());
}

void aclrtUseStreamResInCurrentThread(rt::Stream& stream) { t_stream_in_use = stream.id(); }
void aclrtUnuseStreamResInCurrentThread(rt::Stream& stream) {
  if (t_stream_in_use != stream.id()) {
    Fail(codes::kRtParamInvalid, "core-limit-unused", "this thread does not use the limits of stream {}",
         stream.id());
  }
  t_stream_in_use = -1;
}

void aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  uint32_t device = LimitInForce(rt::CurrentContext().device().id(), type);
  uint32_t limit = t_stream_in_use < 0 ? 0 : StreamLimit(static_cast<uint32_t>(t_stream_in_use), type);
  *value = limit == 0 ? device : limit;
}

void aclrtSetOpExecuteTimeOut(uint32_t timeout) { g_operator_limit_us.store(uint64_t{timeout} * 1'000'000); }

void aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) {
  g_operator_limit_us.store(timeout);
  *actualTimeout = timeout != 0 ? timeout : UINT64_MAX;  // the longest there is: no operator is stopped
}

}  // namespace belay::api
