// What the simulated product has: cores, caches, memory; and the limits on cores that programs set.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <string_view>

#include "api/handlers.h"
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
    {"Ascend910B3", 20, 40, 6, 192 * kMiB}, {"Ascend910B1", 24, 48, 6, 192 * kMiB},
    {"Ascend910B2", 24, 48, 6, 192 * kMiB}, {"Ascend910B4", 20, 40, 6, 96 * kMiB},
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
    Fail(107000, "core-kind", "type = {}; use ACL_RT_DEV_RES_CUBE_CORE or _VECTOR_CORE",
         static_cast<int>(type));
  }
  return g_limits[rt::DeviceAt(device).id() % kMostDevices][type];
}

uint32_t CoresOf(aclrtDevResLimitType type) {
  return type == ACL_RT_DEV_RES_CUBE_CORE ? ProductInUse().cube_cores : ProductInUse().vector_cores;
}

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
    case ACL_DEV_ATTR_IS_VIRTUAL:
      *value = 0;
      break;
    default:
      Fail(207000, "device-attribute", "attribute {} means nothing on {}", static_cast<int>(attr),
           rt::CurrentSettings().soc);
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
      Fail(100000, "device-attribute", "{} is none of aclDeviceInfo", static_cast<int>(deviceInfo));
  }
}

void aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  std::atomic<uint32_t>& limit = LimitOf(deviceId, type);
  if (value == 0 || value > CoresOf(type)) {
    Fail(107000, "core-limit", "value = {}; the device has {} such cores", value, CoresOf(type));
  }
  limit.store(value);
}

void aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
  *value = LimitInForce(deviceId, type);
}

void aclrtResetDeviceResLimit(int32_t deviceId) {
  LimitOf(deviceId, ACL_RT_DEV_RES_CUBE_CORE).store(0);
  LimitOf(deviceId, ACL_RT_DEV_RES_VECTOR_CORE).store(0);
}

void aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  *value = LimitInForce(rt::CurrentContext().device().id(), type);
}

}  // namespace belay::api
