#include "api/wait.h"

#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/error_about.h"
#include "base/thread.h"
#include "runtime/callback_pool.h"
#include "runtime/capture.h"
#include "runtime/engine.h"
#include "runtime/explain_wait.h"
#include "runtime/process.h"

namespace belay::api {

void RefuseInCallback(const char* call) {
  if (!rt::InCallback()) [[likely]]
    return;
  Fail(codes::kInvalidParam, "wait-in-callback",
       "{} inside a callback would wait for the stream that runs the callback; leave the callback first",
       call);
}

int64_t DeadlineOf(int32_t timeout_ms) {
  if (timeout_ms == -1) return -1;
  if (timeout_ms < 0) {
    Fail(codes::kRtParamInvalid, "timeout",
         "timeout = {} ms; use -1 to wait for ever, or a number of milliseconds", timeout_ms);
  }
  return NowNs() + int64_t{timeout_ms} * 1'000'000;
}

void Surface(const std::optional<rt::TaskFailure>& failure) {
  if (failure) FailAbout(AboutOf(failure->error), failure->code, failure->id, "{}", failure->Explain());
}

void CheckNotEnded(const char* what) {
  if (rt::StateOfProcess() != rt::ProcessState::kEnding) [[likely]]
    return;
  Fail(codes::kUninitialize, "ended-meanwhile",
       "aclFinalize, called by another thread, ended {} before it was over", what);
}

bool WaitUntil(rt::Stream& stream, uint64_t position, int64_t deadline_ns) {
  {
    MayBeCancelled may_be_cancelled;
    bool reached = rt::TheEngine().WaitFor(stream, position, deadline_ns);
    CheckNotEnded("a wait for tasks");
    if (reached) return true;
  }
  if (deadline_ns >= 0) return false;
  Fail(codes::kUninitialize, "process-ending",
       "the process is ending: the workers have stopped, and nothing will let stream {} go on", stream.id());
}

void CheckNotAborted(const rt::Stream& stream, uint32_t aborts) {
  if (stream.aborts() == aborts) [[likely]]
    return;
  Fail(codes::kRtDeviceTaskAbort, "stream-aborted",
       "the tasks of stream {} were dropped while this call waited for them; submit them again", stream.id());
}

void WaitForStream(rt::Stream& stream, int64_t deadline_ns, int timeout_code) {
  uint64_t tail = stream.tail();
  uint32_t aborts = stream.aborts();
  if (!stream.HostSees(tail) && !WaitUntil(stream, tail, deadline_ns)) {
    Fail(timeout_code, "wait-timeout", "stream {} has {} unfinished tasks at the end of the time limit; {}",
         stream.id(), tail - stream.completed(), rt::ExplainWait(stream));
  }
  CheckNotAborted(stream, aborts);
  if (stream.failed()) [[unlikely]]
    Surface(stream.TakeFailure());
}

std::optional<rt::TaskFailure> WaitForDevice(rt::Device& device, const char* call, int64_t deadline_ns) {
  RefuseInCallback(call);
  rt::CheckNoCaptureOn(device.id(), call);
  rt::Stream* late = nullptr;
  MayBeCancelled may_be_cancelled;
  std::optional<rt::TaskFailure> failure = device.Synchronize(deadline_ns, &late);
  CheckNotEnded("a wait for all streams of a device");
  if (late != nullptr) {
    Fail(codes::kRtWaitTimeout, "wait-timeout", "device {} had not finished at the end of the time limit; {}",
         device.id(), rt::ExplainWait(*late));
  }
  return failure;
}

}  // namespace belay::api
