// Notifies: one stream sets, another waits and clears.
#include "runtime/notify.h"
#include "base/codes.h"

#include <cstring>

#include "api/convert.h"
#include "api/handlers.h"
#include "api/sharing.h"

namespace belay::api {

void aclrtCreateNotify(aclrtNotify* notify, uint64_t flag) {
  if (flag != ACL_NOTIFY_DEFAULT && flag != ACL_NOTIFY_DEVICE_USE_ONLY) {
    Fail(codes::kRtParamInvalid, "notify-flag",
         "flag = {:#x}; use ACL_NOTIFY_DEFAULT or ACL_NOTIFY_DEVICE_USE_ONLY", flag);
  }
  *notify = AsHandle<aclrtNotify>(rt::Notify::Create(rt::CurrentContext().device()));
}

void aclrtDestroyNotify(rt::Notify& notify) { rt::Notify::Destroy(notify); }

void aclrtRecordNotify(rt::Notify& notify, rt::Stream& stream) { notify.Record(stream); }

void aclrtWaitAndResetNotify(rt::Notify& notify, rt::Stream& stream, uint32_t timeout) {
  notify.WaitAndReset(stream, int64_t{timeout} * 1'000'000'000);
}

void aclrtGetNotifyId(rt::Notify& notify, uint32_t* notifyId) { *notifyId = notify.id(); }

void aclrtNotifyBatchReset(aclrtNotify* notifies, size_t num) {
  for (size_t i = 0; i < num; ++i) Need<rt::Notify>(notifies[i], "notifies");
  for (size_t i = 0; i < num; ++i) Need<rt::Notify>(notifies[i], "notifies")->Reset();
}

void aclrtNotifyGetExportKey(rt::Notify& notify, char* key, size_t len, uint64_t flags) {
  if (len < kKeyBytes)
    Fail(codes::kRtParamInvalid, "share-key-length", "len = {}; a key takes {} bytes", len, kKeyBytes);
  CheckExportFlags(flags);
  CopyKey(notify.Offer(flags == 1), key, len);
}

void aclrtNotifySetImportPid(rt::Notify& notify, int32_t* pid, size_t num) { notify.Allow(Pids(pid, num)); }

void aclrtNotifyImportByKey(aclrtNotify* notify, const char* key, uint64_t flags) {
  if (flags != ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT && flags != ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS) {
    Fail(codes::kInvalidParam, "share-flags", "flags = {:#x}; use 0, or 2 to enable peer access as well",
         flags);
  }
  rt::OfferName name = rt::NameOf(std::string(key, strnlen(key, kKeyBytes)));
  *notify = AsHandle<aclrtNotify>(rt::Notify::Import(rt::CurrentContext().device(), name));
}

}  // namespace belay::api
