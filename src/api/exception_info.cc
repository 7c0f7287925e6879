// The callback for failed tasks, and what it may ask about the failure.
#include <atomic>

#include "api/handlers.h"
#include "base/codes.h"
#include "base/error.h"
#include "runtime/callback_pool.h"
#include "runtime/context.h"
#include "runtime/stream.h"

// What a program holds while its callback runs.
struct rtExceptionInfo {
  uint32_t task;
  uint32_t stream;
  uint32_t device;
  uint32_t code;
};

namespace belay::api {
namespace {

std::atomic<aclrtExceptionInfoCallback> g_callback{nullptr};
thread_local const aclrtExceptionInfo* t_info = nullptr;  // the one that is being told of

void TellException(void* argument) {
  auto* info = static_cast<aclrtExceptionInfo*>(argument);
  aclrtExceptionInfoCallback callback = g_callback.load();
  if (callback == nullptr) return;
  t_info = info;
  callback(info);
  t_info = nullptr;
}

// On a thread for user code, but before a waiting host learns of the failure.
void Observe(const rt::Stream& stream, const rt::TaskFailure& failure) {
  if (g_callback.load() == nullptr) return;
  aclrtExceptionInfo info{static_cast<uint32_t>(failure.number), stream.id(),
                          static_cast<uint32_t>(stream.context().device().id()),
                          static_cast<uint32_t>(failure.code)};
  rt::TellOnCallbackThread(TellException, &info);
}

const aclrtExceptionInfo& Checked(const aclrtExceptionInfo* info) {
  if (info != t_info) {
    Fail(codes::kInvalidParam, "exception-info",
         "info = {} is not the failure that this thread is being told of; ask "
         "inside the callback of aclrtSetExceptionInfoCallback",
         static_cast<const void*>(info));
  }
  return *info;
}

}  // namespace

void aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  g_callback.store(callback);
  rt::SetFailureObserver(callback == nullptr ? nullptr : Observe);
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) { return Checked(info).task; }
uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) { return Checked(info).stream; }
uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) { return Checked(info).device; }
uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) { return Checked(info).code; }

}  // namespace belay::api
