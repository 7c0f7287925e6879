// Memory between processes: blocks by key (aclrtIpcMem*), physical memory by number (shareable handles).
#include "runtime/memory_sharing.h"

#include <cstring>

#include "api/codes.h"
#include "api/convert.h"
#include "api/handlers.h"
#include "api/sharing.h"
#include "api/wait.h"
#include "base/error.h"
#include "runtime/context.h"
#include "runtime/foreign_offer.h"
#include "runtime/memory_state.h"

namespace belay::api {
void CheckExportFlags(uint64_t flags) {
  if (flags <= 1) return;
  Fail(kBadArgument, "share-flags",
       "flags = {:#x}; use 0 (named processes only) or 1 (any process of the user)", flags);
}

void CopyKey(const rt::OfferName& name, char* key, size_t length) {
  std::memset(key, 0, length);
  std::string text = rt::KeyOf(name);
  std::memcpy(key, text.data(), std::min(text.size(), length - 1));
}

std::span<const int32_t> Pids(const int32_t* pid, size_t count) {
  if (count == 0)
    Fail(kBadArgument, "share-pids", "no process is named; give the number of processes in pid");
  return {pid, count};
}

void aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len, uint64_t flags) {
  RefuseInCallback("aclrtIpcMemGetExportKey");
  if (len != kKeyBytes)
    Fail(kBadArgument, "share-key-length", "len = {}; a key takes {} bytes", len, kKeyBytes);
  CheckExportFlags(flags);
  CopyKey(rt::SharedMemory::Get().Export(devPtr, size, flags == 1), key, len);
}

void aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num) {
  rt::OfferName name = rt::NameOf(std::string(key, strnlen(key, kKeyBytes)));
  if (rt::Offers::Get().Allow(name, Pids(pid, num))) return;
  Fail(codes::kRtInvalidHandle, "share-not-open", "this process has not exported '{}', or closed it already",
       rt::KeyOf(name));
}

void aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags) {
  if (flags > 1)
    Fail(kBadArgument, "share-flags", "flags = {:#x}; use 0, or 1 to enable peer access as well", flags);
  int device = 0;
  void* p = rt::SharedMemory::Get().Import(rt::NameOf(std::string(key, strnlen(key, kKeyBytes))), &device);
  rt::Context* context = rt::CurrentContextOrNull();
  if (flags == 1 && context != nullptr && context->device().id() != device) {
    context->device().peers.fetch_or(uint64_t{1} << device);
  }
  *devPtr = p;
}

void aclrtIpcMemClose(const char* key) {
  rt::SharedMemory::Get().Close(rt::NameOf(std::string(key, strnlen(key, kKeyBytes))));
}

// --- physical memory

void aclrtMemExportToShareableHandle(rt::PhysicalMemory& handle, aclrtMemHandleType handleType,
                                     uint64_t flags, uint64_t* shareableHandle) {
  if (handleType != ACL_MEM_HANDLE_TYPE_NONE) {
    Fail(kBadArgument, "physical-properties", "handleType is {}; it is 0", static_cast<int>(handleType));
  }
  CheckExportFlags(flags);
  *shareableHandle = rt::NumberOf(rt::Memory().virtual_memory->Export(handle, flags == 1));
}

void aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t* pid, size_t pidNum) {
  rt::OfferName name = rt::NameOf(shareableHandle);
  if (rt::Offers::Get().Allow(name, Pids(pid, pidNum))) return;
  Fail(codes::kRtInvalidHandle, "share-not-open", "this process has not exported {:#x}, or freed that memory",
       shareableHandle);
}

void aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId,
                                       aclrtDrvMemHandle* handle) {
  rt::DeviceAt(deviceId);
  rt::ForeignOffer offer = rt::OpenOffer(rt::NameOf(shareableHandle), rt::OfferKind::kPhysicalMemory);
  *handle = AsHandle<aclrtDrvMemHandle>(
      rt::Memory().virtual_memory->ImportPhysical(offer.TakeMemory(), deviceId, offer.record.bytes));
}

}  // namespace belay::api
