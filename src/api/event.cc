// Events: life, records, waits, time.
#include <chrono>
#include <cstring>
#include <thread>

#include "api/convert.h"
#include "api/handlers.h"
#include "api/process_options.h"
#include "api/sharing.h"
#include "api/wait.h"
#include "base/clock.h"
#include "base/codes.h"
#include "base/thread.h"
#include "runtime/capture.h"
#include "runtime/engine.h"
#include "runtime/explain_wait.h"
#include "runtime/observer.h"

namespace belay::api {
namespace {

constexpr uint32_t kIpc = 0x40;
constexpr uint32_t kExternal = 0x20;
constexpr uint32_t kAllFlags = 0x7b;
std::atomic<uint32_t> g_next_id{0};

// `foreign`: what another process shares of an event with ACL_EVENT_IPC.
aclrtEvent CreateEvent(rt::EventKind kind, uint32_t flags,
                       std::shared_ptr<rt::SharedWords> foreign = nullptr) {
  bool lone = flags == kIpc || flags == kExternal;
  if (flags == 0 || (flags & ~kAllFlags) != 0 || (!lone && (flags & (kIpc | kExternal)) != 0)) {
    Fail(codes::kRtParamInvalid, "event-flag",
         "flag = {:#x}; use ACL_EVENT_SYNC (0x1), ACL_EVENT_CAPTURE_STREAM_PROGRESS (0x2) and "
         "ACL_EVENT_TIME_LINE (0x8), which may be combined, or ACL_EVENT_IPC or ACL_EVENT_EXTERNAL alone",
         flags);
  }
  rt::Device& device = rt::CurrentContext().device();
  std::shared_ptr<rt::SharedWords> words = std::move(foreign);
  if (flags == kIpc && words == nullptr) words = rt::SharedWords::Own();
  const bool counted = rt::Event::Counted(kind, flags);
  if (counted) device.TakeEventSlot();
  HandleBits handle =
      rt::Events().Create(device, kind, flags, g_next_id.fetch_add(1, std::memory_order_relaxed));
  if (handle == 0) {
    if (counted) device.ReturnEventSlot();
    Fail(codes::kRtNoEventResource, "event-table-full",
         "the process holds as many events as Belay can number");
  }
  if (words != nullptr) rt::Events().Find(handle)->Share(std::move(words));
  return AsHandle<aclrtEvent>(handle);
}

void NeedSync(const rt::Event& event) {
  if (event.may_sync_streams()) [[likely]]
    return;
  Fail(
      codes::kRtParamInvalid, "event-no-sync",
      "event {} was created with flag {:#x}; only an event with ACL_EVENT_SYNC can make a stream wait or be reset",
      event.id(), event.flags());
}

void RefuseEx(const rt::Event& event, const char* call) {
  if (event.kind() != rt::EventKind::kEx) [[likely]]
    return;
  Fail(
      codes::kRtParamInvalid, "event-ex",
      "{} is not for events made by aclrtCreateEventExWithFlag (event {}); record it again instead of resetting "
      "it, and ask aclrtQueryEventStatus",
      call, event.id());
}

void Wait(rt::Stream& stream, rt::Event& event, uint32_t seconds) {
  NeedSync(event);
  event.MakeWait(stream, int64_t{seconds} * 1'000'000'000);
}

// A record inside a model is fulfilled in the middle of its launch, which may go on to wait for the host;
// one of another process is on no stream that is known here.
void SynchronizePolled(rt::Event& event, rt::Stream* stream, int64_t deadline_ns) {
  MayBeCancelled may_be_cancelled;
  constexpr auto kLongestPause = std::chrono::microseconds(200);
  for (auto pause = std::chrono::microseconds(5); !event.Complete();
       pause = std::min(2 * pause, kLongestPause)) {
    if (deadline_ns >= 0 && NowNs() >= deadline_ns) {
      Fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "wait-timeout",
           "event {} was not complete at the end of the time limit", event.id());
    }
    if (pause == kLongestPause) event.CheckPeer();
    std::this_thread::sleep_for(pause);
  }
  if (stream != nullptr && stream->failed()) [[unlikely]]
    Surface(stream->TakeFailure());
}

void Synchronize(rt::Event& event, const char* call, int64_t deadline_ns) {
  RefuseInCallback(call);
  rt::Event::Binding binding = event.LatestRecord();
  if (event.IsPolled()) return SynchronizePolled(event, binding.stream, deadline_ns);
  if (binding.stream == nullptr) {
    if (event.kind() == rt::EventKind::kEx) return;
    Fail(codes::kRtParamInvalid, "event-unrecorded",
         "event {} was not recorded (or was reset since), so {} would never return", event.id(), call);
  }
  uint32_t aborts = binding.stream->aborts();
  if (!binding.stream->HostSees(binding.position) &&
      !WaitUntil(*binding.stream, binding.position, deadline_ns)) {
    Fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "wait-timeout",
         "event {}, recorded on stream {}, was not complete at the end of the time limit; {}", event.id(),
         binding.stream->id(), rt::ExplainWait(*binding.stream));
  }
  CheckNotAborted(*binding.stream, aborts);
  if (binding.stream->failed()) [[unlikely]]
    Surface(binding.stream->TakeFailure());
}

bool IsComplete(rt::Event& event) {
  if (event.Complete()) return true;
  event.CheckPeer();
  return event.Complete();
}

void RefuseIpc(const rt::Event& event, const char* call) {
  if (event.flags() != kIpc) [[likely]]
    return;
  Fail(codes::kRtParamInvalid, "event-ipc",
       "{} is not for events made with ACL_EVENT_IPC; create the event with other flags", call);
}

uint64_t TimeOf(rt::Event& event, const char* argument) {
  event.LatestRecord();  // throws when that is in a capture, whatever the times of earlier ones
  uint64_t ticks = event.ticks();
  if (ticks != 0) return ticks;
  event.Complete();  // who asks again and again sees the work go on
  Fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "event-no-time", "{} (event {}) has no time: {}", argument,
       event.id(),
       event.keeps_time() ? "its latest record has not run; record it and synchronise its stream first"
                          : "create it with ACL_EVENT_TIME_LINE");
}

}  // namespace

void aclrtCreateEvent(aclrtEvent* event) { *event = CreateEvent(rt::EventKind::kPlain, 0xb); }
void aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  *event = CreateEvent(rt::EventKind::kFlagged, flag);
}
void aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  *event = CreateEvent(rt::EventKind::kEx, flag);
}

void aclrtDestroyEvent(rt::Event& event) {
  HandleBits handle = rt::Events().HandleOf(&event);
  rt::Device& device = event.device();
  const bool counted = event.counted();
  if (rt::Observers::any()) rt::TellDestroyed(handle);
  if (rt::Events().Destroy(handle) && counted) device.ReturnEventSlot();
}

void aclrtIpcGetEventHandle(rt::Event& event, aclrtIpcEventHandle* handle) {
  CopyKey(event.Offer(), handle->reserved, sizeof handle->reserved);
}

void aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent* event) {
  rt::CurrentContext();
  rt::OfferName name =
      rt::NameOf(std::string(handle.reserved, strnlen(handle.reserved, sizeof handle.reserved)));
  *event = CreateEvent(rt::EventKind::kFlagged, kIpc, rt::SharedWords::Import(name, rt::OfferKind::kEvent));
}

void aclrtRecordEvent(rt::Event& event, rt::Stream& stream) { event.Record(stream); }

void aclrtRecordEventWithFlag(rt::Event& event, rt::Stream& stream, uint32_t flag) {
  if (flag == ACL_EVENT_RECORD_DEFAULT) return event.Record(stream);
  if (flag != ACL_EVENT_RECORD_EXTERNAL) {
    Fail(codes::kRtParamInvalid, "record-flag",
         "flag = {}; use ACL_EVENT_RECORD_DEFAULT or ACL_EVENT_RECORD_EXTERNAL", flag);
  }
  event.RecordExternal(stream);
}

void aclrtResetEvent(rt::Event& event, rt::Stream& stream) {
  RefuseEx(event, "aclrtResetEvent");
  NeedSync(event);
  event.Reset(stream);
}

void aclrtStreamWaitEvent(rt::Stream& stream, rt::Event& event) {
  Wait(stream, event, Options().wait_limit_s.load(std::memory_order_relaxed));
}

void aclrtStreamWaitEventWithTimeout(rt::Stream& stream, rt::Event& event, int32_t timeout) {
  if (timeout < 0)
    Fail(codes::kRtParamInvalid, "timeout", "timeout = {} s; use 0 for no limit, or a number of seconds",
         timeout);
  Wait(stream, event, static_cast<uint32_t>(timeout));
}

void aclrtSetOpWaitTimeout(uint32_t timeout) { Options().wait_limit_s.store(timeout); }

void aclrtQueryEvent(rt::Event& event, aclrtEventStatus* status) {
  RefuseEx(event, "aclrtQueryEvent");
  *status = IsComplete(event) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
}

void aclrtQueryEventStatus(rt::Event& event, aclrtEventRecordedStatus* status) {
  *status = IsComplete(event) ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
}

void aclrtQueryEventWaitStatus(rt::Event& event, aclrtEventWaitStatus* status) {
  RefuseEx(event, "aclrtQueryEventWaitStatus");
  NeedSync(event);
  event.LatestRecord();  // throws when that is in a capture
  const bool passed = event.AllWaitsPassed();
  if (!passed) rt::TheEngine().AskedInVain();
  *status = passed ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
}

void aclrtSynchronizeEvent(rt::Event& event) { Synchronize(event, "aclrtSynchronizeEvent", -1); }
void aclrtSynchronizeEventWithTimeout(rt::Event& event, int32_t timeout) {
  Synchronize(event, "aclrtSynchronizeEventWithTimeout", DeadlineOf(timeout));
}

void aclrtEventElapsedTime(float* ms, rt::Event& startEvent, rt::Event& endEvent) {
  RefuseIpc(startEvent, "aclrtEventElapsedTime");
  RefuseIpc(endEvent, "aclrtEventElapsedTime");
  uint64_t start = TimeOf(startEvent, "startEvent");
  uint64_t end = TimeOf(endEvent, "endEvent");
  if (end < start) {
    Fail(
        ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "event-time-reversed",
        "endEvent (event {}) was reached before startEvent (event {}); give them in the order of their records",
        endEvent.id(), startEvent.id());
  }
  *ms = static_cast<float>(TicksToNs(end - start) / 1e6);
}

void aclrtEventGetTimestamp(rt::Event& event, uint64_t* timestamp) {
  RefuseIpc(event, "aclrtEventGetTimestamp");
  *timestamp = static_cast<uint64_t>(TickTimeNs(TimeOf(event, "event")) / 1000);
}

void aclrtGetEventAvailNum(uint32_t* eventCount) {
  *eventCount = static_cast<uint32_t>(rt::CurrentContext().device().events_available());
}

void aclrtGetEventId(rt::Event& event, uint32_t* eventId) {
  RefuseIpc(event, "aclrtGetEventId");
  *eventId = event.id();
}

}  // namespace belay::api
