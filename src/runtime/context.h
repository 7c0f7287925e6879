// Devices and contexts, and which of them the calling thread uses.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/handle_table.h"
#include "base/relaxed.h"
#include "runtime/stream.h"

namespace belay::rt {

class Device;
class LastWork;

// A context owns streams. Every device has one default context; programs may create more. The object is
// never destroyed, only opened again, so that a call may be in the middle of one that another thread
// destroys: it is refused then, or acts on what has taken the slot.
class Context {
 public:
  static constexpr bool kPersistent = true;

  // Called by the handle table.
  void Open(Device& device, bool is_default);
  void Close() {}

  Device& device() const { return *static_cast<Device*>(device_); }
  bool is_default() const { return is_default_; }
  HandleBits handle() const;
  // Created with the context; NULL as a stream argument means it.
  Stream& default_stream() const { return *static_cast<Stream*>(default_stream_); }

  // New stream of this context. Throws 207008 at the device's limit, 107017 when the context has gone.
  Stream& CreateStream(const StreamOptions& options);
  // Waits for the tasks unless `force`, which drops them.
  static void DestroyStream(Stream& stream, bool force);
  // All streams of the context, the default one first.
  std::vector<Stream*> Streams();
  // The same without a copy. `body` may take the stream's locks and nothing of the context.
  template <class Body>
  void ForEachStream(Body body) {
    std::lock_guard guard(lock_);
    for (Stream* stream : streams_) body(*stream);
  }
  // Destroys the streams and takes no new ones.
  void Shutdown(bool force);
  // Failure mode 1 (ACL_STOP_ON_FAILURE): set on one stream it is that of all streams of the context.
  void StopOnFailure() { stops_on_failure_ = true; }
  bool stops_on_failure() const { return stops_on_failure_; }

 private:
  bool Add(Stream& stream);
  Stream* LatestStream();  // none is added any more

  Relaxed<Device*> device_ = nullptr;
  Relaxed<bool> is_default_ = false;
  Relaxed<bool> stops_on_failure_ = false;
  Relaxed<Stream*> default_stream_ = nullptr;
  std::mutex lock_;
  bool open_ = false;             // under lock_
  std::vector<Stream*> streams_;  // under lock_
};

using ContextTable = HandleTable<Context, HandleKind::kContext, 1u << 16>;
extern ContextTable g_contexts;
inline ContextTable& Contexts() { return g_contexts; }
// Throws 207005, 207008 at a limit. A handle: the device's reset on another thread may end the context at
// once.
HandleBits CreateContext(Device& device, bool is_default);
void DestroyContext(Context& context, bool force);  // Shutdown, and recycles it

// Told of every stream, default ones too, after it was made and before it ends; on the thread that does so,
// without a lock. Null: nobody.
enum class StreamMoment : uint8_t { kMade, kEnds };
using StreamObserver = void (*)(Stream& stream, StreamMoment moment);
void SetStreamObserver(StreamObserver observer);

// All that there can be exist from the start, and for ever.
class Device {
 public:
  int id() const;

  // aclrtSetDevice: counts, and builds the default context when needed.
  Context& Use();
  // aclrtResetDevice: the last reset waits for the tasks of the default context and frees everything.
  // `force`: so does this one, but it waits for nothing that cannot come by itself, and for no other context.
  void Release(bool force);
  // The default context, or null while the device is not in use.
  Context* default_context() const { return default_context_.load(std::memory_order_acquire); }

  // Counting against the documented limits. Throw 207008 / 207007.
  void TakeStreamSlot();
  void ReturnStreamSlot() { streams_.fetch_sub(1, std::memory_order_relaxed); }
  void TakeEventSlot();
  void ReturnEventSlot() { events_.fetch_sub(1, std::memory_order_relaxed); }
  int streams_available() const;
  int events_available() const;

  // Peer access of this device to others, one bit a device.
  std::atomic<uint64_t> peers{0};

  // Waits for all streams of all contexts of the device; the first failure stored on one of them is
  // taken and returned (null: none). *late is the first stream that had not finished at the deadline, else
  // null.
  std::optional<TaskFailure> Synchronize(int64_t deadline_ns, Stream** late);
  // Drops the tasks of all streams; each stream reports 107022 once. False when a running task had not
  // ended at the deadline.
  bool Abort(int64_t deadline_ns);

 private:
  std::vector<Stream*> AllStreams() const;
  void DestroyOtherContexts(bool force);
  friend void CreateDevices(int count);
  void Renew();
  Context& UseLocked();
  LastWork GivenWork() const;
  void DropWork();
  void HastenRelease(LastWork& work);

  std::mutex lock_;
  std::atomic<bool> releasing_{false};  // changes under lock_ to true: the last reset is under way
  int uses_ = 0;                        // under lock_
  std::atomic<Context*> default_context_{nullptr};
  std::atomic<int> streams_{0};
  std::atomic<int> events_{0};
};

// Devices that programs see (BELAY_DEVICES and ASCEND_RT_VISIBLE_DEVICES applied).
int DeviceCount();
Device& DeviceAt(int id);  // throws 107001
inline constexpr int kMostDevices = 64;
void CreateDevices(int count);  // at aclInit: puts them in the state of a fresh process
void SetStreamLimit(int streams);

// --- the calling thread

// The handle of the context that the thread set last; 0: none.
inline constinit thread_local HandleBits t_context = 0;

// The thread's context: the one it set last, else the default device's (aclInit JSON). Null: none, or
// the one it had is gone.
Context* CurrentContextOrNull();
Context& CurrentContext();  // throws 107002
void SetCurrentContext(Context& context);
int CurrentDeviceOrZero();          // for memory calls, which work without a context
void SetDefaultDevice(int device);  // -1: none

// A stream argument: null is the default stream of the current context. Throws 107017 for a handle that
// is none, 107002 without a context, 107003 for a stream of another context.
Stream& ResolveStreamSlow(HandleBits handle, const char* argument);
inline Stream& ResolveStream(HandleBits handle, const char* argument) {
  Stream* stream = Streams().Find(handle);
  if (stream != nullptr && Contexts().Find(t_context) == &stream->context()) [[likely]]
    return *stream;
  return ResolveStreamSlow(handle, argument);
}

}  // namespace belay::rt
