// A stream: a FIFO of tasks with at most one running. It is not a thread: whoever took it (a worker, or
// a host thread that waits and helps) runs it until it is empty or has to wait.
//
// A position is the number of tasks submitted to the stream up to and including one task. Positions
// only grow, also when the slot is re-used for another stream, so "this stream, that position" stands
// for an event's record without any allocation or reference count.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/handle_table.h"
#include "base/relaxed.h"
#include "base/spin_lock.h"
#include "runtime/observer.h"
#include "runtime/stream_state.h"
#include "runtime/task.h"
#include "runtime/task_failure.h"
#include "runtime/task_queue.h"

namespace belay::rt {

class Capture;
class Context;
class Engine;
class TaskUpdate;

// Told of each failure before anybody who waits for the stream learns of it; null: nobody.
using FailureObserver = void (*)(const Stream&, const TaskFailure&);
void SetFailureObserver(FailureObserver observer);

inline constexpr uint32_t kLowestPriority = 7;

struct StreamOptions {
  uint32_t priority = 0;
  uint32_t flags = 0;
  bool is_default = false;
};

// Why a parked stream waits.
enum class ParkReason : uint8_t { kNone, kPosition, kTicket, kCallback, kPoll, kLaunch, kTurn };

// Where a parked stream waits, and how to take it off that place before it is fulfilled. `cancel` is
// called while the stream's lock keeps it parked, so `where` is alive; since others take the locks the
// other way round it may only try the lock of that place.
enum class CancelResult : uint8_t { kDone, kGone, kBusy };
struct ParkPlace {
  ParkReason reason = ParkReason::kNone;
  void* where = nullptr;
  CancelResult (*cancel)(void* where, Stream& stream) = nullptr;  // null: cannot end early
  Stream* source = nullptr;  // the stream that has to get on, if it is known, and how far
  uint64_t position = 0;
  uint32_t event = 0;  // kTicket: the number of the event
};

class Stream {
 public:
  static constexpr bool kPersistent = true;

  // Called by the handle table. Close needs a drained stream.
  void Open(Context& context, const StreamOptions& options, uint32_t id);
  void Close();

  // --- the one door
  // Queues a task (or hands it to the capture that the stream is part of) and returns its position (0
  // when captured). Many threads may submit. Blocks while the stream holds StreamDepth() tasks.
  // Throws Error when the stream refuses work; the task is destroyed then.
  uint64_t Submit(Task&& task);
  // For tasks that make no sense inside a graph: 0 when a capture has begun; the task is destroyed.
  uint64_t SubmitLive(Task&& task);

  uint64_t tail() const { return queue_.tail(); }
  uint64_t completed() const { return completed_.load(std::memory_order_acquire); }
  bool Reached(uint64_t position) const { return completed() >= position; }
  bool Idle() const { return Reached(tail()); }
  // The same for a program that asks: from a yes on it may rely on it.
  bool HostSees(uint64_t position) const {
    if (!Reached(position)) return false;
    if (Observers::any()) [[unlikely]]
      TellHostLearned(*this, position);
    return true;
  }
  // A host wants the stream to get on now: it should not be left alone for a moment to gather tasks.
  void Hurry();

  // Takes (and so clears) the stored failure, the first one since this was last asked, if any.
  std::optional<TaskFailure> TakeFailure();
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  // --- the runner's side: worker threads, helping hosts, the step engine
  bool TryTake();  // Ready -> Running
  enum class RunResult { kDrained, kParked, kYielded };
  // Runs tasks until the queue is empty, a task parks the stream, or position `until` is reached
  // (then the stream is made ready again for others), or *stop is set. The caller took the stream.
  RunResult Run(uint64_t until, const std::atomic<bool>* stop = nullptr);

  // --- waiting
  // Called by a task body on the running stream: parks until `source` reaches `position` and returns
  // the serial number of the park, 0 when the position was reached already (the stream still runs).
  // Once parked, the stream may be running elsewhere: the body must not touch itself again.
  uint64_t ParkUntil(Stream& source, uint64_t position);
  // Parks elsewhere. The caller holds whatever lock makes the later Fulfil come after this. 0 when the
  // stream is being dropped and so has nothing to wait for.
  uint64_t Park(const ParkPlace& place);
  // Parked -> Ready, and tells the engine. Once a park, by whoever took the stream off its place.
  void Fulfil();
  // From the callback thread: the host function that parked the stream has returned. Or it could not begin.
  void CallbackDone(std::exception_ptr failure = nullptr) {
    callback_done_ = true;
    park_failure_ = std::move(failure);
    Fulfil();
  }
  // Throws what kept the function from running.
  bool TakeCallbackDone() {
    if (park_failure_ != nullptr) [[unlikely]]
      ThrowParkFailure();
    return std::exchange(callback_done_, false);
  }
  // Ends a park early (time limit, abort); false when it was over or cannot end early. TakeTimedOut throws
  // the failure, if there is one.
  bool CancelPark(uint64_t serial, const std::exception_ptr& failure = nullptr);
  // Cancels the park at the deadline (NowNs).
  void LimitPark(uint64_t serial, int64_t deadline_ns) noexcept;

  // Host threads sleep here until `position` is reached or the deadline (NowNs; negative: none) is past.
  bool SleepUntil(uint64_t position, int64_t deadline_ns);

  // --- life
  // From now on tasks are dropped instead of run; their records still let others go on. Ends a park.
  void Drop();
  void RunNoMore();  // the same, but a park goes on
  void StopDropping();
  // The process ends: Drop, and who asks later learns that there was something left; StopDropping. Where
  // exit() interrupted who holds a lock, they do what can be done without it.
  void CutShort();
  void ResumeInExit();
  // Counts what aborted the stream's tasks: who waited meanwhile did not get what it waited for.
  void NoteAbort() { aborts_.fetch_add(1); }
  void NoteAbort(const Error& error);  // and the next synchronise fails with it
  uint32_t aborts() const { return aborts_.load(std::memory_order_relaxed); }
  bool dropping() const { return dropping_.load(std::memory_order_relaxed); }
  // From now on Submit fails: the stream is about to be closed.
  void StopAccepting();
  // False while a thread may be running a small task that it submits.
  bool NobodySubmits() { return std::unique_lock(lock_, std::try_to_lock).owns_lock(); }

  HandleBits handle() const;
  uint32_t id() const { return id_; }
  Context& context() const { return *static_cast<Context*>(context_); }
  StreamOptions options() const { return {priority_, flags_, is_default_}; }
  void SetPriority(uint32_t priority) { priority_ = std::min(priority, kLowestPriority); }
  uint32_t priority() const { return priority_; }  // 0 (highest) to kLowestPriority
  StreamState state() const { return state_.load(std::memory_order_relaxed); }
  uint64_t park_serial() const { return park_serial_.load(std::memory_order_relaxed); }
  // Whether the park that just ended was cancelled; clears it.
  bool TakeTimedOut() {
    if (park_failure_ != nullptr) [[unlikely]]
      ThrowParkFailure();
    return std::exchange(timed_out_, false);
  }
  // What a parked stream waits for, if that is a position of another stream; else a null stream.
  ParkPlace parked_at();

  // After a failure in a context that stops on failure: what is queued is dropped, nothing more accepted.
  void StopWorking(const TaskFailure& why);

  // An observer has come: Submit looks who watches.
  void BeginToWatch();

  // Capture: set and cleared by Capture under its own lock.
  Capture* capture() const { return capture_.load(std::memory_order_acquire); }
  bool EnterCapture(Capture* capture);  // false: it is in one already, or is being closed
  void LeaveCapture();
  bool closing() const { return closing_; }

  // Between aclmdlRICaptureTaskUpdateBegin and End what is submitted goes to the update.
  bool BeginUpdate(std::unique_ptr<TaskUpdate> update);  // false: there is one, or a capture
  std::unique_ptr<TaskUpdate> TakeUpdate();
  bool updating();

  // Free for api use: attributes that have no effect on execution.
  struct Attributes {
    bool failure_mode_set = false;
    uint32_t overflow_switch = 0;
    uint32_t user_tag = 0;
    uint32_t cache_op_info = 0;
  } attributes;

 private:
  StreamState Apply(StreamCommand command);  // under run_lock_
  void MakeReady(TaskCost cost);
  bool TryPush(Task& task, uint64_t* position);
  template <bool kWatched>
  uint64_t PushLocked(Task& task);
  bool MayRunAtOnce(const Task& task) const;
  template <bool kWatched>
  uint64_t RunAtOnce(Task& task);
  uint64_t SubmitObserved(Task& task);
  uint64_t SubmitSlow(Task&& task, bool live);
  void WaitForRoom();
  template <bool kWatched>
  RunResult RunWith(uint64_t until, const std::atomic<bool>* stop);
  template <bool kWatched>
  bool RunFront(Task& task);
  bool TellStarted(const Task& task) noexcept;
  template <bool kWatched, class Body>
  std::optional<TaskFailure> RunUnlessInjected(const Task& task, const Body& run);
  void TellEnded(const Task& task, const TaskFailure* failure) noexcept;
  void StoreFailure(TaskFailure&& failure) noexcept;
  [[noreturn, gnu::cold]] void ThrowParkFailure();
  void CompleteRecord(uint64_t position);
  void WakeHosts(uint64_t position);
  bool Linger(uint64_t tail, int64_t lag_ns);
  bool TryDrain();
  static CancelResult Unlink(void* source, Stream& waiter);
  void Yield(TaskCost cost);
  void Offered();

  // Producers. Whoever runs the stream takes this lock only to find it empty, so that the two sides
  // seldom fight for a cache line. Order: lock_ before run_lock_, and before what a small task takes.
  alignas(64) SpinLock lock_;
  bool idle_ = false;  // state_ is kIdle: the next push makes the stream ready
  bool gate_ = false;  // Submit must take the slow path: observed, capturing, stopped, or closed
  bool stopped_ = false;
  std::atomic<bool> closing_{false};
  Relaxed<uint32_t> id_ = 0;
  uint64_t room_until_ = 0;  // tail may grow to here without looking at completed_
  std::atomic<Capture*> capture_{nullptr};
  Relaxed<Context*> context_ = nullptr;
  Relaxed<uint32_t> flags_ = 0;
  Relaxed<bool> is_default_ = false;
  TaskQueue queue_;

  // The runner.
  alignas(64) SpinLock run_lock_;
  std::atomic<StreamState> state_{StreamState::kClosed};
  std::atomic<bool> dropping_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> hurry_{false};
  std::atomic<bool> cut_short_{false};
  bool timed_out_ = false;
  bool callback_done_ = false;
  std::exception_ptr park_failure_;  // what kept the stream from waiting where it was to
  std::atomic<uint64_t> completed_{0};
  std::atomic<uint64_t> host_target_{UINT64_MAX};  // least position that a sleeping host waits for
  std::atomic<uint32_t> host_epoch_{0};
  std::atomic<uint32_t> aborts_{0};
  uint64_t head_ = 0;
  uint64_t seen_tail_ = 0;  // the tail when the runner looked last

  // Waiting: streams parked until this one reaches a position, and this stream's own park.
  SpinLock wait_lock_;
  Stream* waiters_ = nullptr;
  Stream* next_waiter_ = nullptr;  // in the list of the stream that this one waits for
  uint64_t wait_position_ = 0;
  std::atomic<uint64_t> park_serial_{0};  // under run_lock_
  ParkPlace place_;                       // under run_lock_
  uint64_t begun_ = 0;                    // the position of the task that observers know to have started

  // Seldom touched, under lock_.
  TaskUpdate* update_ = nullptr;  // owned; not a unique_ptr, for which its class would have to be known here
  uint64_t opened_at_ = 0;        // positions count on from the stream that had the slot before
  std::optional<TaskFailure> stop_reason_;
  std::optional<TaskFailure> failure_;

  // The engine's ready list (its lock).
  friend class ReadyList;
  Stream* ready_next_ = nullptr;
  Relaxed<uint32_t> priority_ = 0;  // here, where who feeds the stream does not write
  bool in_ready_list_ = false;
};

using StreamTable = HandleTable<Stream, HandleKind::kStream, 1u << 20>;
extern StreamTable g_streams;
inline StreamTable& Streams() { return g_streams; }

// Tasks that one stream may hold (BELAY_STREAM_DEPTH, default 65,536).
uint64_t StreamDepth();
void SetStreamDepth(uint64_t depth);

}  // namespace belay::rt
