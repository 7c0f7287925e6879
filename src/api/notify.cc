// Notifies: one stream sets, another waits and clears.
#include "runtime/notify.h"

#include "api/convert.h"
#include "api/handlers.h"

namespace belay::api {

void aclrtCreateNotify(aclrtNotify* notify, uint64_t flag) {
  if (flag != ACL_NOTIFY_DEFAULT && flag != ACL_NOTIFY_DEVICE_USE_ONLY) {
    Fail(107000, "notify-flag", "flag = {:#x}; use ACL_NOTIFY_DEFAULT or ACL_NOTIFY_DEVICE_USE_ONLY",
         flag);
  }
  rt::Notify& made = rt::Notify::Create(rt::CurrentContext().device());
  *notify = AsHandle<aclrtNotify>(rt::g_notifies.HandleOf(&made));
}

void aclrtDestroyNotify(rt::Notify& notify) { rt::Notify::Destroy(notify); }

void aclrtRecordNotify(rt::Notify& notify, rt::Stream& stream) { notify.Record(stream); }

void aclrtWaitAndResetNotify(rt::Notify& notify, rt::Stream& stream, uint32_t timeout) {
  notify.WaitAndReset(stream, int64_t{timeout} * 1'000'000'000);
}

void aclrtGetNotifyId(rt::Notify& notify, uint32_t* notifyId) { *notifyId = notify.id(); }

void aclrtNotifyBatchReset(aclrtNotify* notifies, size_t num) {
  for (size_t i = 0; i < num; ++i) Need<rt::Notify>(notifies[i], "notifies");
  for (size_t i = 0; i < num; ++i) Need<rt::Notify>(notifies[i], "notifies").Clear();
}

}  // namespace belay::api
