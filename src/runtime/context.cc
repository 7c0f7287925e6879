#include "runtime/context.h"

#include <algorithm>
#include <array>

#include "base/codes.h"
#include "base/error_about.h"
#include "base/room.h"
#include "runtime/callback_pool.h"
#include "runtime/capture.h"
#include "runtime/device_writes.h"
#include "runtime/engine.h"
#include "runtime/event.h"
#include "runtime/last_work.h"
#include "runtime/memory.h"
#include "runtime/notify.h"
#include "runtime/observer.h"

namespace belay::rt {

constinit ContextTable g_contexts;

namespace {

constinit std::array<Device, kMostDevices> g_devices{};
constinit std::atomic<int> g_device_count{0};

constexpr int kEventLimit = 65536;  // acl pages 0080, 0081: A2, A3
std::atomic<int> g_stream_limit{1984};
std::atomic<uint32_t> g_next_stream_id{0};
std::atomic<int> g_default_device{-1};
constinit std::atomic<StreamObserver> g_stream_observer{nullptr};

int EventLimit() { return std::max(kEventLimit, g_stream_limit.load(std::memory_order_relaxed)); }

void Tell(Stream& stream, StreamMoment moment) {
  if (StreamObserver observe = g_stream_observer.load(std::memory_order_acquire)) [[unlikely]]
    observe(stream, moment);
}

// What waits for a dropped task goes on then, but is not to run.
void DropAll(const std::vector<Stream*>& streams) {
  for (Stream* stream : streams) {
    if (Observers::any()) TellGivenUp(*stream);
    stream->RunNoMore();
  }
  for (Stream* stream : streams) stream->Drop();
}

}  // namespace

void SetStreamObserver(StreamObserver observer) { g_stream_observer.store(observer); }

int DeviceCount() { return g_device_count.load(std::memory_order_acquire); }

Device& DeviceAt(int id) {
  if (id < 0 || id >= DeviceCount()) {
    Fail(codes::kRtInvalidDeviceid, "device-id",
         "device {} does not exist; this process sees devices 0 to {}", id, DeviceCount() - 1);
  }
  return g_devices[static_cast<size_t>(id)];
}

void CreateDevices(int count) {
  for (Device& device : g_devices) device.Renew();
  g_device_count.store(count, std::memory_order_release);
}

void SetStreamLimit(int streams) { g_stream_limit.store(streams); }
void SetDefaultDevice(int device) { g_default_device.store(device); }

// --- device

int Device::id() const { return static_cast<int>(this - g_devices.data()); }

// No call is in flight: what is left is of a life that has ended, or (in a forked child) of the parent,
// one of whose threads may have held the lock.
void Device::Renew() {
  new (&lock_) std::mutex;
  uses_ = 0;
  releasing_.store(false, std::memory_order_relaxed);
  default_context_.store(nullptr, std::memory_order_relaxed);
  streams_.store(0, std::memory_order_relaxed);
  events_.store(0, std::memory_order_relaxed);
  peers.store(0, std::memory_order_relaxed);
}

Context& Device::Use() {
  for (;;) {
    Context* context = nullptr;
    bool made = false;
    {
      std::lock_guard guard(lock_);
      made = default_context() == nullptr;
      if (!releasing_.load(std::memory_order_relaxed)) context = &UseLocked();
    }
    if (context != nullptr) {
      if (made) Tell(context->default_stream(), StreamMoment::kMade);
      return *context;
    }
    if (InCallback()) {
      Fail(codes::kRtContextNull, "device-resetting",
           "device {} is being reset, which waits for this callback: it cannot be set here", id());
    }
    releasing_.wait(true);
  }
}

Context& Device::UseLocked() {
  Context* context = default_context();
  if (context == nullptr) {
    context = g_contexts.Find(CreateContext(*this, true));  // no reset is under way
    default_context_.store(context, std::memory_order_release);
  }
  ++uses_;
  return *context;
}

// The tasks are waited for without the lock: their callbacks may ask for the device.
void Device::Release(bool force) {
  LastWork work;
  if (force) work = GivenWork();
  Context* context;
  {
    std::unique_lock guard(lock_);
    if (force && releasing_.load(std::memory_order_relaxed)) {
      guard.unlock();
      return HastenRelease(work);
    }
    if (uses_ == 0) {
      Fail(codes::kRtContextNull, "device-not-set",
           "device {} is not in use: it was never set, or was reset already", id());
    }
    uses_ = force ? 0 : uses_ - 1;
    if (uses_ > 0) return;
    releasing_.store(true, std::memory_order_relaxed);
    context = default_context_.exchange(nullptr);
  }
  Rollback released([&] {
    releasing_.store(false, std::memory_order_release);
    releasing_.notify_all();
  });
  if (force) {
    work.Await();
    DropWork();
  }
  {
    CallbackScope scope;  // for those who are told of streams: the device cannot be set, nor waited for
    DestroyContext(*context, force);
    DestroyOtherContexts(force);
  }
  Notify::DestroyAllOf(*this);
  ReleaseDeviceMemory(id());
}

// A reset by force waits for what the default context was given; explicit ones the program had to destroy
// itself.
LastWork Device::GivenWork() const {
  LastWork work;
  rt::Streams().ForEach([&](Stream& stream) {
    if (&stream.context().device() == this) work.Add(stream, stream.context().is_default());
  });
  return work;
}

// On all streams before any is destroyed.
void Device::DropWork() {
  std::vector<Stream*> streams;
  rt::Streams().ForEach([&](Stream& stream) {
    if (&stream.context().device() == this) streams.push_back(&stream);
  });
  for (Stream* stream : streams) stream->NoteAbort();
  DropAll(streams);
}

// Another thread's reset is under way, which may wait without end.
void Device::HastenRelease(LastWork& work) {
  work.Await();
  DropWork();
  releasing_.wait(true);
}

// Contexts that the program did not destroy before the last reset: their memory goes now.
void Device::DestroyOtherContexts(bool force) {
  g_contexts.ForEach([&](Context& context) {
    if (&context.device() == this) DestroyContext(context, force);
  });
}

void Device::TakeStreamSlot() {
  int limit = g_stream_limit.load(std::memory_order_relaxed);
  if (streams_.fetch_add(1, std::memory_order_relaxed) < limit) return;
  streams_.fetch_sub(1, std::memory_order_relaxed);
  Fail(codes::kRtNoStreamResource, "stream-limit",
       "device {} has {} streams, as many as the card allows; destroy some, or raise BELAY_STREAM_LIMIT",
       id(), limit);
}

void Device::TakeEventSlot() {
  const int limit = EventLimit();
  if (events_.fetch_add(1, std::memory_order_relaxed) < limit) return;
  events_.fetch_sub(1, std::memory_order_relaxed);
  Fail(codes::kRtNoEventResource, "event-limit",
       "device {} has {} events, as many as the card allows; destroy some, or raise BELAY_STREAM_LIMIT", id(),
       limit);
}

int Device::events_available() const { return std::max(0, EventLimit() - events_.load()); }

int Device::streams_available() const { return std::max(0, g_stream_limit.load() - streams_.load()); }

std::vector<Stream*> Device::AllStreams() const {
  std::vector<Stream*> all;
  g_contexts.ForEach([&](Context& context) {
    if (&context.device() != this) return;
    for (Stream* stream : context.Streams()) all.push_back(stream);
  });
  return all;
}

bool Device::Abort(int64_t deadline_ns) {
  std::vector<Stream*> streams = AllStreams();
  bool all_ended = true;
  DropAll(streams);
  for (Stream* stream : streams) {
    stream->NoteAbort(Error(codes::kRtDeviceTaskAbort, "device-abort",
                            "the tasks of the device were aborted (aclrtDeviceTaskAbort)"));
    if (TheEngine().WaitFor(*stream, stream->tail(), deadline_ns)) {
      stream->StopDropping();
    } else {
      all_ended = false;  // goes on dropping: nothing queued may run when the long task ends
    }
  }
  return all_ended;
}

std::optional<TaskFailure> Device::Synchronize(int64_t deadline_ns, Stream** late) {
  *late = nullptr;
  struct Goal {
    Stream* stream;
    uint64_t position;
    uint32_t aborts;
  };
  std::vector<Goal> goals;
  for (Stream* stream : AllStreams()) goals.push_back({stream, stream->tail(), stream->aborts()});
  for (auto [stream, position, aborts] : goals) {
    if (!TheEngine().WaitFor(*stream, position, deadline_ns) && *late == nullptr) *late = stream;
  }
  std::optional<TaskFailure> first;
  for (auto [stream, position, aborts] : goals) {
    if (stream->aborts() != aborts) {
      stream->NoteAbort(Error(codes::kRtDeviceTaskAbort, "stream-aborted",
                              "the tasks of the stream were dropped while the device was waited for"));
    }
    std::optional<TaskFailure> failure = stream->TakeFailure();
    if (!first) first = std::move(failure);
  }
  return first;
}

// --- context

HandleBits CreateContext(Device& device, bool is_default) {
  HandleBits handle = g_contexts.Create(device, is_default);
  if (handle == 0)
    Fail(codes::kRtResourceAllocFail, "context-limit",
         "the process holds as many contexts as Belay can number");
  if (is_default) return handle;  // Use tells of it, without its lock
  if (Context* context = g_contexts.Find(handle)) Tell(context->default_stream(), StreamMoment::kMade);
  return handle;
}

void DestroyContext(Context& context, bool force) {
  HandleBits handle = context.handle();
  context.Shutdown(force);
  g_contexts.Destroy(handle);
  if (Observers::any()) TellDestroyed(handle);
}

void Context::Open(Device& device, bool is_default) {
  device_ = &device;
  is_default_ = is_default;
  stops_on_failure_ = false;
  {
    std::lock_guard guard(lock_);
    open_ = true;
    streams_.clear();
  }
  default_stream_ = &CreateStream({.is_default = true});
}

HandleBits Context::handle() const { return g_contexts.HandleOf(this); }

Stream& Context::CreateStream(const StreamOptions& options) {
  Device& device = this->device();
  device.TakeStreamSlot();
  Rollback no_slot([&] { device.ReturnStreamSlot(); });
  uint32_t id = g_next_stream_id.fetch_add(1, std::memory_order_relaxed);
  HandleBits handle = rt::Streams().Create(*this, options, id);
  DeviceWrites::MeetNewStreams();
  if (handle == 0)
    Fail(codes::kRtNoStreamResource, "stream-table-full",
         "the process holds as many streams as Belay can number");
  Stream* stream = rt::Streams().Find(handle);
  Rollback no_stream([&] { rt::Streams().Destroy(handle); });
  if (!Add(*stream))
    Fail(codes::kRtInvalidHandle, "context-destroyed",
         "the context was destroyed while the call was under way");
  no_stream.Keep();
  no_slot.Keep();
  if (!options.is_default) Tell(*stream, StreamMoment::kMade);
  return *stream;
}

bool Context::Add(Stream& stream) {
  std::lock_guard guard(lock_);
  if (open_) streams_.push_back(&stream);
  return open_;
}

void Context::DestroyStream(Stream& stream, bool force) {
  Context& context = stream.context();
  {
    std::lock_guard guard(context.lock_);
    auto it = std::find(context.streams_.begin(), context.streams_.end(), &stream);
    if (it == context.streams_.end()) return;  // another thread was first
    *it = context.streams_.back();
    context.streams_.pop_back();
  }
  Tell(stream, StreamMoment::kEnds);
  stream.StopAccepting();
  LeaveCapture(stream);
  if (force) {
    if (Observers::any()) TellGivenUp(stream);
    stream.NoteAbort();  // for whoever waits for its tasks
    stream.Drop();
  }
  TheEngine().WaitFor(stream, stream.tail(), -1);
  if (Observers::any()) TellDestroyed(stream.handle());
  rt::Streams().Retire(stream.handle());
  // The runner may be between completing the last task and leaving the stream.
  while (stream.state() == StreamState::kRunning) CpuRelax();
  rt::Streams().Recycle(&stream);
  context.device().ReturnStreamSlot();
}

std::vector<Stream*> Context::Streams() {
  std::lock_guard guard(lock_);
  return streams_;
}

Stream* Context::LatestStream() {
  std::lock_guard guard(lock_);
  open_ = false;
  return streams_.empty() ? nullptr : streams_.back();
}

void Context::Shutdown(bool force) {
  while (Stream* stream = LatestStream()) DestroyStream(*stream, force);
}

// --- the calling thread

Context* CurrentContextOrNull() {
  if (t_context != 0) [[likely]] {
    if (Context* context = g_contexts.Find(t_context)) [[likely]]
      return context;
  }
  int device = g_default_device.load(std::memory_order_relaxed);
  if (device < 0) return nullptr;
  Context* context = DeviceAt(device).default_context();
  return context != nullptr ? context : &DeviceAt(device).Use();
}

Context& CurrentContext() {
  Context* context = CurrentContextOrNull();
  if (context == nullptr) {
    Fail(codes::kRtContextNull, "no-context",
         "this thread has no {}context; call aclrtSetDevice or aclrtSetCurrentContext first",
         t_context == 0 ? "" : "live ");
  }
  return *context;
}

void SetCurrentContext(Context& context) { t_context = context.handle(); }

int CurrentDeviceOrZero() {
  Context* context = CurrentContextOrNull();
  return context == nullptr ? 0 : context->device().id();
}

Stream& ResolveStreamSlow(HandleBits handle, const char* argument) {
  Context& context = CurrentContext();
  if (handle == 0) return context.default_stream();
  Stream* stream = rt::Streams().Find(handle);
  if (stream == nullptr) [[unlikely]] {
    FailAbout(reinterpret_cast<const void*>(handle), codes::kRtInvalidHandle, "stream-handle",
              "{} = {:#x} is not a stream: it was destroyed, or never was one", argument, handle);
  }
  if (&stream->context() != &context) [[unlikely]] {
    Fail(codes::kRtStreamContext, "stream-other-context",
         "{} is stream {} of another context (device {}), the thread's context is on device {}; call "
         "aclrtSetCurrentContext or aclrtSetDevice first",
         argument, stream->id(), stream->context().device().id(), context.device().id());
  }
  return *stream;
}

}  // namespace belay::rt
