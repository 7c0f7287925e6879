// Contexts: life, the calling thread's own, options.
#include <array>
#include <mutex>

#include "api/convert.h"
#include "api/handlers.h"
#include "api/system_options.h"
#include "api/wait.h"
#include "base/codes.h"
#include "runtime/callback_pool.h"
#include "runtime/context.h"

namespace belay::api {

void aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  rt::t_context = rt::CreateContext(rt::DeviceAt(deviceId), false);
  *context = AsHandle<aclrtContext>(rt::t_context);
}

void aclrtDestroyContext(rt::Context& context) {
  if (context.is_default()) {
    Fail(codes::kInvalidParam, "context-default",
         "context {:#x} is the default context of device {}; aclrtResetDevice frees it", context.handle(),
         context.device().id());
  }
  RefuseInCallback("aclrtDestroyContext");
  rt::DestroyContext(context, false);
}

void aclrtSetCurrentContext(rt::Context& context) { rt::SetCurrentContext(context); }

void aclrtGetCurrentContext(aclrtContext* context) {
  *context = AsHandle<aclrtContext>(rt::CurrentContext().handle());
}

void aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  *active = rt::DeviceAt(deviceId).default_context() != nullptr ? 1 : 0;
  if (flags != nullptr) *flags = 0;
}

void aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  SetSystemOption(rt::CurrentContext().handle(), opt, value);
}
void aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  *value = GetSystemOption(rt::CurrentContext().handle(), opt);
}
void aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) { SetSystemOption(0, opt, value); }
void aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) { *value = GetSystemOption(0, opt); }

}  // namespace belay::api
