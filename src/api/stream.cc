// Streams: life, waiting, attributes, failure behaviour.
#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "api/convert.h"
#include "api/handlers.h"
#include "api/report_threads.h"
#include "api/state_callbacks.h"
#include "api/wait.h"
#include "base/codes.h"
#include "runtime/capture.h"
#include "runtime/engine.h"

namespace belay::api {
namespace {

constexpr uint32_t kKnownFlags = 0x3f;
// Streams of these kinds are driven by the device: a host that synchronises does not wait.
constexpr uint32_t kNoSync = ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;

void CreateStream(aclrtStream* stream, uint32_t priority, uint32_t flags) {
  rt::Stream& created = rt::CurrentContext().CreateStream({priority, flags});
  *stream = AsHandle<aclrtStream>(created.handle());
}

void DestroyStream(rt::Stream& stream, bool force) {
  if (stream.options().is_default) {
    Fail(codes::kRtParamInvalid, "stream-default",
         "the default stream goes with its context; it cannot be destroyed");
  }
  HandleBits handle = stream.handle();
  if (rt::Observers::any() && rt::Capture::InfoOf(stream).state == rt::CaptureState::kActive)
    rt::TellRemark(
        "spoiled-capture",
        fmt::format("stream {} is being captured, and the capture gives no model without it", stream.id()));
  rt::Context::DestroyStream(stream, force);
  ForgetSubscription(handle);
}

}  // namespace

void aclrtCreateStream(aclrtStream* stream) { CreateStream(stream, 0, 0); }

void aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  CreateStream(stream, std::min(priority, rt::kLowestPriority), (flag & ~kKnownFlags) == 0 ? flag : 0);
}

void aclrtDestroyStream(rt::Stream& stream) {
  RefuseInCallback("aclrtDestroyStream");
  DestroyStream(stream, false);
}
void aclrtDestroyStreamForce(rt::Stream& stream) {
  RefuseInCallback("aclrtDestroyStreamForce");
  DestroyStream(stream, true);
}

void aclrtStreamQuery(rt::Stream& stream, aclrtStreamStatus* status) {
  rt::CheckNotCaptured(stream, "aclrtStreamQuery");
  bool idle = stream.HostSees(stream.tail());
  if (!idle) stream.Hurry();
  *status = idle ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
}

void aclrtSynchronizeStream(rt::Stream& stream) {
  RefuseInCallback("aclrtSynchronizeStream");
  rt::CheckNotCaptured(stream, "aclrtSynchronizeStream");
  if ((stream.options().flags & kNoSync) != 0) return;
  WaitForStream(stream, -1, 0);
}

void aclrtSynchronizeStreamWithTimeout(rt::Stream& stream, int32_t timeout) {
  RefuseInCallback("aclrtSynchronizeStreamWithTimeout");
  rt::CheckNotCaptured(stream, "aclrtSynchronizeStreamWithTimeout");
  int64_t deadline = DeadlineOf(timeout);
  if ((stream.options().flags & kNoSync) != 0) return;
  WaitForStream(stream, deadline, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
}

void aclrtStreamGetId(rt::Stream& stream, int32_t* streamId) {
  *streamId = static_cast<int32_t>(stream.id());
}
void aclrtStreamGetPriority(rt::Stream& stream, uint32_t* priority) { *priority = stream.options().priority; }
void aclrtStreamGetFlags(rt::Stream& stream, uint32_t* flags) { *flags = stream.options().flags; }
void aclrtGetStreamAvailableNum(uint32_t* streamCount) {
  *streamCount = static_cast<uint32_t>(rt::CurrentContext().device().streams_available());
}

// --- attributes

void aclrtSetStreamFailureMode(rt::Stream& stream, uint64_t mode) {
  if (mode > 1)
    Fail(codes::kRtParamInvalid, "failure-mode", "mode = {}; use 0 (go on) or 1 (stop on failure)", mode);
  if (stream.attributes.failure_mode_set) {
    Fail(codes::kRtParamInvalid, "failure-mode-twice",
         "the failure mode of stream {} was set before; it can be set once", stream.id());
  }
  stream.attributes.failure_mode_set = true;
  if (mode == 1) stream.context().StopOnFailure();
}

void aclrtSetStreamOverflowSwitch(rt::Stream& stream, uint32_t flag) {
  stream.attributes.overflow_switch = flag;
}
void aclrtGetStreamOverflowSwitch(rt::Stream& stream, uint32_t* flag) {
  *flag = stream.attributes.overflow_switch;
}

void aclrtSetStreamAttribute(rt::Stream& stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue* value) {
  switch (static_cast<int>(stmAttrType)) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      return aclrtSetStreamFailureMode(stream, value->failureMode);
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      stream.attributes.overflow_switch = value->overflowSwitch;
      return;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
      stream.attributes.user_tag = value->userCustomTag;
      return;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      stream.attributes.cache_op_info = value->cacheOpInfoSwitch;
      return;
    case ACL_STREAM_ATTR_PRIORITY:
      stream.SetPriority(std::min(value->streamPriority, rt::kLowestPriority));
      return;
    default:
      Fail(codes::kRtParamInvalid, "stream-attribute", "stmAttrType = {} is not an attribute that can be set",
           static_cast<int>(stmAttrType));
  }
}

void aclrtGetStreamAttribute(rt::Stream& stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue* value) {
  switch (static_cast<int>(stmAttrType)) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      value->failureMode = stream.context().stops_on_failure() ? 1 : 0;
      return;
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      value->overflowSwitch = stream.attributes.overflow_switch;
      return;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
      value->userCustomTag = stream.attributes.user_tag;
      return;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      value->cacheOpInfoSwitch = stream.attributes.cache_op_info;
      return;
    case ACL_STREAM_ATTR_PRIORITY:
      value->streamPriority = stream.options().priority;
      return;
    default:
      Fail(codes::kRtParamInvalid, "stream-attribute", "stmAttrType = {} is not an attribute",
           static_cast<int>(stmAttrType));
  }
}

void aclrtStreamAbort(rt::Stream& stream) {
  if ((stream.options().flags & ACL_STREAM_DEVICE_USE_ONLY) != 0) {
    Fail(codes::kRtFeatureNotSupport, "stream-abort",
         "stream {} was made with ACL_STREAM_DEVICE_USE_ONLY, which aclrtStreamAbort is not for; use "
         "aclrtStreamStop",
         stream.id());
  }
  RefuseInCallback("aclrtStreamAbort");
  rt::CheckNotCaptured(stream, "aclrtStreamAbort");
  if (rt::Observers::any()) rt::TellGivenUp(stream);
  stream.NoteAbort();
  stream.Drop();
  rt::TheEngine().WaitFor(stream, stream.tail(), -1);
  stream.StopDropping();
}

// Nothing that runs on a CPU can be stopped in the middle and kept, so only a stream that runs nothing stops.
void aclrtStreamStop(rt::Stream& stream) {
  if ((stream.options().flags & ACL_STREAM_DEVICE_USE_ONLY) == 0) {
    Fail(
        codes::kRtFeatureNotSupport, "stream-stop",
        "aclrtStreamStop is for streams made with ACL_STREAM_DEVICE_USE_ONLY; use aclrtStreamAbort for stream {}",
        stream.id());
  }
  if (stream.Idle()) return;
  Fail(
      codes::kRtFeatureNotSupport, "stream-stop-running",
      "stream {} runs a task, which aclrtStreamStop cannot stop here; use aclrtDestroyStreamForce, which drops what "
      "is queued behind it",
      stream.id());
}

// --- callbacks on creation and destruction

void aclrtRegStreamStateCallback(const char* regName, aclrtStreamStateCallback callback, void* args) {
  RegisterStreamStateCallback(regName, callback, args);
}

}  // namespace belay::api
