#include "runtime/context.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

#include "base/error.h"
#include "runtime/capture.h"
#include "runtime/engine.h"
#include "runtime/event.h"
#include "runtime/memory.h"

namespace belay::rt {

constinit ContextTable g_contexts;

namespace {

std::deque<Device>& DeviceList() {
  static auto* devices = new std::deque<Device>;  // immortal: threads may ask during exit
  return *devices;
}

// Held while somebody walks over all contexts, and while one goes.
constinit std::mutex g_context_life;

constexpr int kEventLimit = 65536;  // acl pages 0080, 0081: A2, A3
std::atomic<int> g_stream_limit{1984};
std::atomic<uint32_t> g_next_stream_id{0};
std::atomic<int> g_default_device{-1};

}  // namespace

int DeviceCount() { return static_cast<int>(DeviceList().size()); }

Device& DeviceAt(int id) {
  if (id < 0 || id >= DeviceCount()) {
    Fail(107001, "device-id", "device {} does not exist; this process sees devices 0 to {}", id,
         DeviceCount() - 1);
  }
  return DeviceList()[static_cast<size_t>(id)];
}

void CreateDevices(int count) {
  new (&g_context_life) std::mutex;  // in a forked child another thread may have held it
  DeviceList().clear();
  for (int i = 0; i < count; ++i) DeviceList().emplace_back(i);
}

void SetStreamLimit(int streams) { g_stream_limit.store(streams); }
void SetDefaultDevice(int device) { g_default_device.store(device); }

// --- device --------------------------------------------------------------------------------------------

Context& Device::Use() {
  std::lock_guard guard(lock_);
  Context* context = default_context();
  if (context == nullptr) {
    context = &CreateContext(*this, true);
    default_context_.store(context, std::memory_order_release);
  }
  ++uses_;
  return *context;
}

void Device::Release(bool force) {
  std::lock_guard guard(lock_);
  if (uses_ == 0) {
    Fail(107002, "device-not-set", "device {} is not in use: it was never set, or was reset already", id_);
  }
  uses_ = force ? 0 : uses_ - 1;
  if (uses_ > 0) return;
  Context* context = default_context_.exchange(nullptr);
  DestroyContext(*context, force);
  DestroyOtherContexts(force);
  ReleaseDeviceMemory(id_);
}

// Contexts that the program did not destroy before the last reset: their memory goes now.
void Device::DestroyOtherContexts(bool force) {
  std::vector<Context*> left;
  {
    std::lock_guard guard(g_context_life);
    g_contexts.ForEach([&](Context& context) {
      if (&context.device() == this) left.push_back(&context);
    });
  }
  for (Context* context : left) DestroyContext(*context, force);
}

void Device::TakeStreamSlot() {
  int limit = g_stream_limit.load(std::memory_order_relaxed);
  if (streams_.fetch_add(1, std::memory_order_relaxed) < limit) return;
  streams_.fetch_sub(1, std::memory_order_relaxed);
  Fail(207008, "stream-limit",
       "device {} has {} streams, as many as the card allows; destroy some, or raise BELAY_STREAM_LIMIT",
       id_, limit);
}

void Device::TakeEventSlot() {
  int limit = std::max(kEventLimit, g_stream_limit.load(std::memory_order_relaxed));
  if (events_.fetch_add(1, std::memory_order_relaxed) < limit) return;
  events_.fetch_sub(1, std::memory_order_relaxed);
  Fail(207007, "event-limit",
       "device {} has {} events, as many as the card allows; destroy some, or raise BELAY_STREAM_LIMIT",
       id_, limit);
}

int Device::streams_available() const {
  return std::max(0, g_stream_limit.load() - streams_.load());
}

std::vector<Stream*> Device::AllStreams() const {
  std::vector<Stream*> all;
  std::lock_guard guard(g_context_life);
  g_contexts.ForEach([&](Context& context) {
    if (&context.device() != this) return;
    for (Stream* stream : context.Streams()) all.push_back(stream);
  });
  return all;
}

bool Device::Abort(int64_t deadline_ns) {
  std::vector<Stream*> streams = AllStreams();
  bool all_ended = true;
  for (Stream* stream : streams) stream->Drop();
  for (Stream* stream : streams) {
    stream->NoteAbort(Error(107022, "device-abort", "the tasks of the device were aborted (aclrtDeviceTaskAbort)"));
    if (TheEngine().WaitFor(*stream, stream->tail(), deadline_ns)) {
      stream->StopDropping();
    } else {
      all_ended = false;  // goes on dropping: nothing queued may run when the long task ends
    }
  }
  return all_ended;
}

void Device::Quiesce() {
  for (Stream* stream : AllStreams()) {
    uint64_t goal = stream->tail();
    for (StreamState state = stream->state();
         !stream->Reached(goal) && (state == StreamState::kReady || state == StreamState::kRunning);
         state = stream->state()) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
}

std::unique_ptr<TaskFailure> Device::Synchronize(int64_t deadline_ns, bool* reached) {
  *reached = true;
  std::vector<std::pair<Stream*, uint64_t>> goals;
  for (Stream* stream : AllStreams()) goals.emplace_back(stream, stream->tail());
  for (auto [stream, position] : goals) {
    if (!TheEngine().WaitFor(*stream, position, deadline_ns)) *reached = false;
  }
  std::unique_ptr<TaskFailure> first;
  for (auto [stream, position] : goals) {
    std::unique_ptr<TaskFailure> failure = stream->TakeFailure();
    if (first == nullptr) first = std::move(failure);
  }
  return first;
}

// --- context -------------------------------------------------------------------------------------------

Context& CreateContext(Device& device, bool is_default) {
  HandleBits handle = g_contexts.Create(device, is_default);
  if (handle == 0) Fail(207005, "context-limit", "the process holds as many contexts as Belay can number");
  return *g_contexts.Find(handle);
}

void DestroyContext(Context& context, bool force) {
  HandleBits handle = context.handle();
  context.Shutdown(force);
  std::lock_guard guard(g_context_life);
  g_contexts.Destroy(handle);
}

Context::Context(Device& device, bool is_default) : device_(device), is_default_(is_default) {
  default_stream_ = &CreateStream({.is_default = true});
}

HandleBits Context::handle() const { return g_contexts.HandleOf(this); }

Stream& Context::CreateStream(const StreamOptions& options) {
  device_.TakeStreamSlot();
  uint32_t id = g_next_stream_id.fetch_add(1, std::memory_order_relaxed);
  HandleBits handle = rt::Streams().Create(*this, options, id);
  if (handle == 0) {
    device_.ReturnStreamSlot();
    Fail(207008, "stream-table-full", "the process holds as many streams as Belay can number");
  }
  Stream* stream = rt::Streams().Find(handle);
  std::lock_guard guard(lock_);
  streams_.push_back(stream);
  return *stream;
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
  stream.StopAccepting();
  LeaveCapture(stream);
  if (force) stream.Drop();
  TheEngine().WaitFor(stream, stream.tail(), -1);
  rt::Streams().Retire(stream.handle());
  // The runner may be between completing the last task and leaving the stream.
  while (stream.state() == StreamState::kRunning) CpuRelax();
  rt::Streams().Recycle(&stream);
  context.device_.ReturnStreamSlot();
}

std::vector<Stream*> Context::Streams() {
  std::lock_guard guard(lock_);
  return streams_;
}

void Context::Shutdown(bool force) {
  std::vector<Stream*> streams = Streams();
  std::reverse(streams.begin(), streams.end());
  for (Stream* stream : streams) DestroyStream(*stream, force);
}

// --- the calling thread ----------------------------------------------------------------------------------

Context* CurrentContextOrNull() {
  if (t_context != 0) [[likely]] {
    if (Context* context = g_contexts.Find(t_context)) [[likely]] return context;
  }
  int device = g_default_device.load(std::memory_order_relaxed);
  if (device < 0) return nullptr;
  Context* context = DeviceAt(device).default_context();
  return context != nullptr ? context : &DeviceAt(device).Use();
}

Context& CurrentContext() {
  Context* context = CurrentContextOrNull();
  if (context == nullptr) {
    Fail(107002, "no-context",
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
    Fail(107017, "stream-handle",
         "{} = {:#x} is not a stream: it was destroyed, or never was one", argument, handle);
  }
  if (&stream->context() != &context) [[unlikely]] {
    Fail(107003, "stream-other-context",
         "{} is stream {} of another context (device {}), the thread's context is on device {}; call "
         "aclrtSetCurrentContext or aclrtSetDevice first",
         argument, stream->id(), stream->context().device().id(), context.device().id());
  }
  return *stream;
}

}  // namespace belay::rt
