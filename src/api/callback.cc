// Host functions on streams: the runtime's own threads (aclrtLaunchHostFunc), and threads of the program
// that subscribe to a stream and call aclrtProcessReport.
#include "api/convert.h"
#include "api/handlers.h"
#include "api/report_threads.h"
#include "base/clock.h"
#include "base/codes.h"
#include "runtime/host_call.h"

namespace belay::api {

void aclrtLaunchHostFunc(rt::Stream& stream, aclrtHostFunc fn, void* args) {
  rt::NeedCallbackThread();
  stream.Submit(rt::MakeTask(rt::HostCallTask(fn, args), 20));
}

void aclrtSubscribeReport(uint64_t threadId, rt::Stream& stream) { SubscribeReport(threadId, stream); }
void aclrtUnSubscribeReport(uint64_t threadId, rt::Stream& stream) { UnsubscribeReport(threadId, stream); }

void aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                         rt::Stream& stream) {
  if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
    Fail(codes::kRtParamInvalid, "callback-block-type",
         "blockType = {}; use ACL_CALLBACK_NO_BLOCK or ACL_CALLBACK_BLOCK", static_cast<int>(blockType));
  }
  LaunchReport(stream, fn, userData, blockType == ACL_CALLBACK_BLOCK);
}

void aclrtProcessReport(int32_t timeout) {
  if (timeout < -1 || timeout == 0) {
    Fail(codes::kRtParamInvalid, "timeout",
         "timeout = {} ms; use -1 to wait for ever, or a number of milliseconds", timeout);
  }
  ProcessReport(timeout == -1 ? -1 : NowNs() + int64_t{timeout} * 1'000'000);
}

}  // namespace belay::api
