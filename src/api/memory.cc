// Memory: allocation, attributes, registration of host memory, virtual memory. Copies and fills are
// in memory_copy.cc.
#include "runtime/memory.h"
#include "api/codes.h"
#include "api/convert.h"
#include "base/codes.h"

#include "api/handlers.h"
#include "api/wait.h"
#include "base/error.h"
#include "runtime/context.h"
#include "runtime/memory_registered.h"
#include "runtime/memory_state.h"

namespace belay::api {
namespace {

// A policy is one of ACL_MEM_MALLOC_* with a band width and an access bit; what is out of range
// takes huge pages where they fit.
rt::PagePolicy PagesOf(aclrtMemMallocPolicy policy) {
  switch (static_cast<unsigned>(policy) & 0xff) {
    case ACL_MEM_MALLOC_HUGE_ONLY:
    case ACL_MEM_MALLOC_HUGE_ONLY_P2P:
    case ACL_MEM_MALLOC_HUGE1G_ONLY:
    case ACL_MEM_MALLOC_HUGE1G_ONLY_P2P:
      return rt::PagePolicy::kHugeOnly;
    case ACL_MEM_MALLOC_NORMAL_ONLY:
    case ACL_MEM_MALLOC_NORMAL_ONLY_P2P:
      return rt::PagePolicy::kNormalOnly;
    default:
      return rt::PagePolicy::kHugeFirst;
  }
}

// Blocks on 1 GiB pages have no spare bytes.
bool PaddedBy(aclrtMemMallocPolicy policy) {
  unsigned pages = static_cast<unsigned>(policy) & 0xff;
  return pages != ACL_MEM_MALLOC_HUGE1G_ONLY && pages != ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
}

void* Allocate(int device, size_t size, aclrtMemMallocPolicy policy, bool padded) {
  return rt::AllocateDevice(device, {.bytes = size, .pages = PagesOf(policy), .padded = padded});
}

// The attributes of a block. Only the device changes anything here.
int DeviceOf(const aclrtMallocConfig* cfg, int fallback) {
  if (cfg == nullptr) return fallback;
  if (cfg->numAttrs > 0 && cfg->attrs == nullptr) {
    Fail(kBadArgument, "malloc-config", "cfg->attrs is null and cfg->numAttrs is {}", cfg->numAttrs);
  }
  int device = fallback;
  for (size_t i = 0; i < cfg->numAttrs; ++i) {
    const aclrtMallocAttribute& attribute = cfg->attrs[i];
    switch (static_cast<int>(attribute.attr)) {
      case ACL_RT_MEM_ATTR_RSV:
      case ACL_RT_MEM_ATTR_MODULE_ID:
      case ACL_RT_MEM_ATTR_VA_FLAG:
        break;
      case ACL_RT_MEM_ATTR_DEVICE_ID:
        device = rt::DeviceAt(static_cast<int>(attribute.value.deviceId)).id();
        break;
      default:
        Fail(kBadArgument, "malloc-config", "cfg->attrs[{}].attr is {}, which no attribute has", i,
             static_cast<int>(attribute.attr));
    }
  }
  return device;
}

// Waits for a device's tasks, frees, and then reports what a task failed with.
template <class Free>
void FreeAfter(int device, const char* call, Free free) {
  std::optional<rt::TaskFailure> failure = WaitForDevice(rt::DeviceAt(device), call, -1);
  free();
  Surface(failure);
}

// The block that a free with synchronisation waits for has to be there before the wait.
int CheckedOwner(const void* p, const char* argument) {
  rt::MemoryRange range = rt::CheckRange(p, 1, argument);
  return range.device < 0 ? rt::CurrentDeviceOrZero() : range.device;
}

rt::VirtualMemory& Virtual() { return *rt::Memory().virtual_memory; }

void CheckFlagsZero(uint64_t flags) {
  if (flags != 0) Fail(kBadArgument, "flags-reserved", "flags is {:#x}; it is reserved and must be 0", flags);
}

}  // namespace

void aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  *devPtr = Allocate(rt::CurrentDeviceOrZero(), size, policy, PaddedBy(policy));
}

void aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  *devPtr = Allocate(rt::CurrentDeviceOrZero(), size, policy, false);
}

void aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  api::aclrtMalloc(devPtr, size, policy);
}

void aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig* cfg) {
  *devPtr = Allocate(DeviceOf(cfg, rt::CurrentDeviceOrZero()), size, policy, PaddedBy(policy));
}

void aclrtMallocForTaskScheduler(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                 aclrtMallocConfig* cfg) {
  api::aclrtMallocWithCfg(devPtr, size, policy, cfg);
}

void aclrtFree(void* devPtr) { rt::FreeDevice(devPtr); }

void aclrtFreeWithDevSync(void* devPtr) {
  FreeAfter(CheckedOwner(devPtr, "devPtr"), "aclrtFreeWithDevSync", [&] { rt::FreeDevice(devPtr); });
}

void aclrtMallocHost(void** hostPtr, size_t size) { *hostPtr = rt::AllocatePinned(size); }

void aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  DeviceOf(cfg, 0);  // checked; pinned memory belongs to no device
  *ptr = rt::AllocatePinned(size);
}

void aclrtFreeHost(void* hostPtr) { rt::FreePinned(hostPtr); }

void aclrtFreeHostWithDevSync(void* hostPtr) {
  FreeAfter(CheckedOwner(hostPtr, "hostPtr"), "aclrtFreeHostWithDevSync", [&] { rt::FreePinned(hostPtr); });
}

// --- caches: the device's memory is coherent with the host's, so there is nothing to do but check

namespace {
void CheckCached(const void* p, size_t bytes) {
  if (bytes == 0) Fail(kBadArgument, "memory-size-zero", "size is 0");
  rt::CheckDeviceRange(p, bytes, "devPtr");
}
}  // namespace

void aclrtMemFlush(void* devPtr, size_t size) { CheckCached(devPtr, size); }
void aclrtMemInvalidate(void* devPtr, size_t size) { CheckCached(devPtr, size); }

// --- what is known of memory

// Everything is charged to one component: what the program asked for.
void aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum,
                          size_t* outputNum) {
  rt::MemoryUse use = rt::DeviceMemoryUse(deviceId);
  *outputNum = std::min<size_t>(inputNum, 1);
  if (inputNum == 0) return;
  memUsageInfo[0] = {};
  std::strcpy(memUsageInfo[0].name, "APP");
  memUsageInfo[0].curMemSize = use.now;
  memUsageInfo[0].memPeakSize = use.most;
}

void aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  // One pool serves every kind of memory and every size of page.
  if (static_cast<int>(attr) < ACL_DDR_MEM || static_cast<int>(attr) > ACL_MEM_P2P_HUGE1G) {
    Fail(kBadArgument, "memory-attribute",
         "attr is {}; kinds of memory go from ACL_DDR_MEM ({}) to ACL_MEM_P2P_HUGE1G ({})",
         static_cast<int>(attr), static_cast<int>(ACL_DDR_MEM), static_cast<int>(ACL_MEM_P2P_HUGE1G));
  }
  rt::MemoryInfo info = rt::DeviceMemoryInfo(rt::CurrentDeviceOrZero());
  *free = info.free;
  *total = info.total;
}

void aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  rt::MemoryRange range = rt::Lookup(ptr);
  *attributes = {};
  attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  if (!range.live || range.Remaining(ptr) == 0) return;
  bool device = range.kind == rt::MemoryKind::kDevice;
  attributes->location.type = device ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST;
  attributes->location.id = device ? static_cast<uint32_t>(range.device) : 0;
  attributes->pageSize = device && range.huge_pages ? 2u << 20 : 4096;
}

// --- registered host memory: kernels run on this CPU, so its address for them is its address

void aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  if (static_cast<int>(type) != ACL_HOST_REGISTER_MAPPED) {
    Fail(kNotSupported, "register-type",
         "type is {}; only ACL_HOST_REGISTER_MAPPED is supported, the others are reserved",
         static_cast<int>(type));
  }
  rt::RegisterHost(ptr, size, ACL_HOST_REG_MAPPED);
  *devPtr = ptr;
}

void aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
  constexpr uint32_t kReserved = ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY;
  constexpr uint32_t kKnown = ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED;
  if (flag == 0 || (flag & ~(kKnown | kReserved)) != 0) {
    Fail(kBadArgument, "register-flag", "flag is {:#x}; it is made of ACL_HOST_REG_* bits", flag);
  }
  if ((flag & kReserved) != 0) {
    Fail(kNotSupported, "register-type",
         "flag is {:#x}; ACL_HOST_REG_IOMEMORY and ACL_HOST_REG_READONLY are reserved", flag);
  }
  if (const rt::MemoryRange range = rt::Lookup(ptr); (flag & ACL_HOST_REG_PINNED) != 0 && range.live &&
                                                     range.kind == rt::MemoryKind::kPinned &&
                                                     rt::FindRegistered(ptr).bytes == 0) {
    Fail(kBadArgument, "register-pinned",
         "ptr is {}, which is pinned already; ACL_HOST_REG_PINNED is for memory of malloc and its like",
         rt::DescribeAddress(ptr));
  }
  rt::RegisterHost(ptr, size, flag);
}

void aclrtHostUnregister(void* ptr) { rt::UnregisterHost(ptr); }

void aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag) {
  CheckFlagsZero(flag);
  rt::RegisteredRange range = rt::FindRegistered(pHost);
  if (range.bytes == 0 || (range.flags & ACL_HOST_REG_MAPPED) == 0) {
    Fail(kBadArgument, "register-not-mapped",
         "{} is not in host memory that was registered for access by the device "
         "(ACL_HOST_REGISTER_MAPPED, ACL_HOST_REG_MAPPED)",
         rt::DescribeAddress(pHost));
  }
  *pDevice = pHost;
}

// --- virtual memory

void aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr, uint64_t flags) {
  if (alignment != 0) {
    Fail(kBadArgument, "reserve-alignment",
         "alignment is {}; it is reserved and must be 0 (ranges start at multiples of {} bytes)", alignment,
         rt::kPhysicalGranularity);
  }
  if (flags > 1) {
    Fail(kBadArgument, "reserve-flags", "flags is {:#x}; 0 is normal pages, 1 is huge pages", flags);
  }
  *virPtr = Virtual().Reserve(size, expectPtr);
}

void aclrtReleaseMemAddress(void* virPtr) { Virtual().Release(virPtr); }

void aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp* prop,
                         uint64_t flags) {
  CheckFlagsZero(flags);
  if (prop->location.type != ACL_MEM_LOCATION_TYPE_DEVICE) {
    Fail(kNotSupported, "physical-location",
         "prop->location.type is {}; physical memory is device memory "
         "(ACL_MEM_LOCATION_TYPE_DEVICE)",
         static_cast<int>(prop->location.type));
  }
  if (prop->handleType != ACL_MEM_HANDLE_TYPE_NONE ||
      prop->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED) {
    Fail(kBadArgument, "physical-properties",
         "prop->handleType is {} and prop->allocationType is {}; both are 0",
         static_cast<int>(prop->handleType), static_cast<int>(prop->allocationType));
  }
  int device = rt::DeviceAt(static_cast<int>(prop->location.id)).id();
  *handle = AsNewHandle<aclrtDrvMemHandle>(Virtual().CreatePhysical(device, size));
}

void aclrtFreePhysical(rt::PhysicalMemory& handle) { Virtual().FreePhysical(handle); }

void aclrtMapMem(void* virPtr, size_t size, size_t offset, rt::PhysicalMemory& handle, uint64_t flags) {
  CheckFlagsZero(flags);
  if (offset != 0 || size != handle.bytes) {
    Fail(
        kBadArgument, "memory-map-part",
        "{} bytes from offset {} of physical memory of {} bytes; it is mapped as a whole: offset is 0, and size "
        "that of aclrtMallocPhysical",
        size, offset, handle.bytes);
  }
  Virtual().Map(virPtr, size, offset, handle);
}

void aclrtUnmapMem(void* virPtr) { Virtual().Unmap(virPtr); }

void aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop, aclrtMemGranularityOptions option,
                                      size_t* granularity) {
  if (prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
    rt::DeviceAt(static_cast<int>(prop->location.id));
  }
  if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM && option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
    Fail(kBadArgument, "granularity-option", "option is {}; 0 is the minimum, 1 what is recommended",
         static_cast<int>(option));
  }
  *granularity = rt::kPhysicalGranularity;
}

}  // namespace belay::api
