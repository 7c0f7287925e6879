// The runner's side of a stream: running its tasks, parking it, letting others go on.
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "runtime/device_writes.h"
#include "runtime/engine.h"
#include "runtime/event.h"
#include "runtime/run_task.h"
#include "runtime/stream.h"

namespace belay::rt {
namespace {

// Nanoseconds of work after which a stream gives way to others that are ready: a host that feeds one
// stream for ever starves nobody.
constexpr uint64_t kTurn = 100'000;
constexpr uint64_t kFedBatch = 2;
constexpr int kLooks = 4;
constexpr int kPausesBetweenSignals = 4;

}  // namespace

bool Stream::TryTake() {
  if (state() != StreamState::kReady) return false;
  std::lock_guard guard(run_lock_);
  return Apply(StreamCommand::kTake) == StreamState::kRunning;
}

Stream::RunResult Stream::Run(uint64_t until, const std::atomic<bool>* stop) {
  return Observers::watch_runs() ? RunWith<true>(until, stop) : RunWith<false>(until, stop);
}

template <bool kWatched>
Stream::RunResult Stream::RunWith(uint64_t until, const std::atomic<bool>* stop) {
  Runner* runner = Runner::Current();
  uint64_t spent = 0;
  uint64_t begin = head_;
  bool lingered = false;
  DeviceWrites writes;
  for (;;) {
    writes.GiveWay();
    if (seen_tail_ <= head_) seen_tail_ = queue_.tail();
    uint64_t tail = seen_tail_;
    // A host may feed the stream for ever.
    if (stop != nullptr && stop->load(std::memory_order_relaxed) && head_ < tail) [[unlikely]]
      until = 0;
    while (head_ < tail) {
      if (head_ >= until) {
        Yield(kUnknownCost);
        return RunResult::kYielded;
      }
      Task& task = queue_.Front(tail - head_);
      // After its tasks, never before the first: with more streams of long tasks than workers none would run.
      if (spent > kTurn) [[unlikely]] {
        spent = 0;
        writes.GiveWay();
        if (until == UINT64_MAX && TheEngine().has_ready()) {
          Yield(kLongTask);  // and wakes a worker that sleeps: there is work for two
          return RunResult::kYielded;
        }
      }
      spent += task.cost;
      if (runner != nullptr) runner->BeforeTask(task.cost);
      if (!RunFront<kWatched>(task)) return RunResult::kParked;
    }
    // Only workers (they bring a flag) have time to wait for more; once, while others wait for them.
    bool fed = stop != nullptr && head_ - begin >= kFedBatch && !runner->keeps();
    if (fed && !(lingered && TheEngine().has_ready())) {
      lingered = true;
      begin = head_;
      if (Linger(tail, runner->Lag())) continue;
    }
    if (TryDrain()) return RunResult::kDrained;
  }
}

// A host is feeding the stream faster than one task at a time: wait a moment for more, so that it pays
// for pushes only, not for waking and handing over. The queue is looked at rarely, because each look takes
// the producer's cache line away; what is looked at in between is seldom written.
bool Stream::Linger(uint64_t tail, int64_t lag_ns) {
  const Engine& engine = TheEngine();
  for (int look = 0; look < kLooks; ++look) {
    int64_t end = NowNs() + lag_ns;
    bool called = false;
    while (!called && NowNs() < end) {
      for (int i = 0; i < kPausesBetweenSignals; ++i) CpuRelax();
      called = hurry_.load(std::memory_order_relaxed) || engine.has_urgent();
    }
    if (called) hurry_.store(false, std::memory_order_relaxed);
    if (queue_.tail() != tail) return true;
    if (called || engine.has_ready()) return false;
  }
  return false;
}

void Stream::Hurry() {
  StreamState now = state();
  if (now == StreamState::kReady) TheEngine().Hurry();
  if (now == StreamState::kRunning && !hurry_.load(std::memory_order_relaxed)) {
    hurry_.store(true, std::memory_order_relaxed);
  }
  if (TheEngine().explores()) [[unlikely]]
    TheEngine().AskedInVain();
}

// --- observers

// By who runs the stream, at a task that may have parked it before: false then.
bool Stream::TellStarted(const Task& task) noexcept {
  if (std::exchange(begun_, head_ + 1) == head_ + 1) return false;
  Observers::Tell([&](Observer& o) { o.Started(*this, head_ + 1, task); });
  return true;
}

void Stream::TellEnded(const Task& task, const TaskFailure* failure) noexcept {
  if (begun_ != head_ + 1) return;
  Observers::Tell([&](Observer& o) { o.Ended(*this, head_ + 1, task, failure); });
}

// What a task failed with; made where it stays, for a failure is large to move.
template <bool kWatched, class Body>
inline std::optional<TaskFailure> Stream::RunUnlessInjected(const Task& task, const Body& run) {
  if constexpr (kWatched) {
    if (TellStarted(task)) {
      if (std::optional<TaskFailure> injected = InjectedFailure(task)) return injected;
    }
  }
  return run();
}

// Runs the task at the head; false when it parked the stream (whose next owner may then already be
// running it: nothing of the stream may be touched).
template <bool kWatched>
bool Stream::RunFront(Task& task) {
  const TaskType& type = *task.type;
  // A launch is asked even when the stream is dropped: it may be in the middle of its replay.
  if (!dropping() || type.task_class == TaskClass::kLaunch) [[likely]] {
    bool parked = false;
    std::optional<TaskFailure> failure =
        RunUnlessInjected<kWatched>(task, [&] { return ProceedTask(task, *this, &parked); });
    if (parked) return false;
    if constexpr (kWatched) TellEnded(task, failure ? &*failure : nullptr);
    if (failure) [[unlikely]] {
      failure->number = head_ + 1 - opened_at_;
      StoreFailure(std::move(*failure));
    }
  } else {
    timed_out_ = callback_done_ = false;
    park_failure_ = nullptr;
    if constexpr (kWatched) TellEnded(task, nullptr);
  }
  bool record = type.task_class == TaskClass::kRecord || type.task_class == TaskClass::kLaunch;
  if (type.destroy != nullptr) type.destroy(task.payload);
  queue_.Pop();
  uint64_t position = ++head_;
  if (record) {
    CompleteRecord(position);
  } else {
    completed_.store(position, std::memory_order_release);
  }
  if (position >= host_target_.load(std::memory_order_relaxed)) [[unlikely]]
    WakeHosts(position);
  return true;
}

// --- small tasks, run by the thread that submits them

// Under lock_, when the stream is idle: whether the calling thread may run the task here and now.
bool Stream::MayRunAtOnce(const Task& task) const {
  const TaskType& type = *task.type;
  bool ready = type.run != nullptr || (type.passed != nullptr && type.passed(task.payload));
  return ready && !dropping() && TheEngine().runs_at_once() && StackLeft() >= kTaskStack;
}

// Under lock_, which it gives back. Who holds it while the stream is idle is the only one to run it, and as
// long as nobody knows of the task's position nobody can wait for it: so there is nothing to tell anyone.
template <bool kWatched>
uint64_t Stream::RunAtOnce(Task& task) {
  uint64_t position;
  auto run = [&] {
    std::lock_guard guard(lock_, std::adopt_lock);
    NoCancellation no_cancellation;
    DefaultFloatMode float_mode;
    const TaskType& type = *task.type;
    std::optional<TaskFailure> result = RunUnlessInjected<kWatched>(task, [&] { return RunReadyTask(task); });
    if constexpr (kWatched) TellEnded(task, result ? &*result : nullptr);
    if (type.destroy != nullptr) type.destroy(task.payload);
    position = ++head_;
    completed_.store(position, std::memory_order_release);
    queue_.Publish();
    return result;
  };
  std::optional<TaskFailure> failure = run();
  if (failure) [[unlikely]] {
    failure->number = position - opened_at_;
    StoreFailure(std::move(*failure));
  }
  return position;
}
template uint64_t Stream::RunAtOnce<false>(Task& task);
template uint64_t Stream::RunAtOnce<true>(Task& task);

void Stream::Yield(TaskCost cost) {
  {
    std::lock_guard guard(run_lock_);
    Apply(StreamCommand::kYield);
  }
  TheEngine().MakeReady(*this, cost);
}

// Whoever holds the lock is most likely pushing a task: waiting for it would only slow down both.
bool Stream::TryDrain() {
  uint64_t head = head_;
  bool hosts;
  {
    std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard.owns_lock() || queue_.tail() != head) {
      CpuRelax();
      return false;
    }
    std::lock_guard run_guard(run_lock_);
    idle_ = true;
    Apply(StreamCommand::kDrain);
    hosts = head >= host_target_.load(std::memory_order_relaxed);
  }
  if (hosts) WakeHosts(head);
  return true;
}

// Completes a record and makes every stream ready that waited for it. Under wait_lock_, so that a stream
// that is about to park either sees the position or is seen here.
void Stream::CompleteRecord(uint64_t position) {
  Stream* ready = nullptr;
  {
    std::lock_guard guard(wait_lock_);
    completed_.store(position, std::memory_order_release);
    if (waiters_ == nullptr) [[likely]]
      return;
    Stream** link = &waiters_;
    while (Stream* waiter = *link) {
      if (waiter->wait_position_ > position) {
        link = &waiter->next_waiter_;
        continue;
      }
      *link = waiter->next_waiter_;
      waiter->next_waiter_ = ready;
      ready = waiter;
    }
  }
  while (ready != nullptr) {
    Stream* waiter = ready;
    ready = waiter->next_waiter_;
    waiter->Fulfil();
  }
}

uint64_t Stream::Park(const ParkPlace& place) {
  uint64_t serial;
  bool hosts = false;
  {
    std::lock_guard guard(run_lock_);
    if (dropping() && place.cancel != nullptr) return 0;
    Apply(StreamCommand::kPark);
    place_ = place;
    serial = park_serial() + 1;
    park_serial_.store(serial, std::memory_order_relaxed);
    hosts = completed() >= host_target_.load(std::memory_order_relaxed);
  }
  // A host that went to sleep while the previous task ended has waited for nothing else.
  if (hosts) [[unlikely]]
    WakeHosts(UINT64_MAX - 1);
  return serial;
}

uint64_t Stream::ParkUntil(Stream& source, uint64_t position) {
  std::lock_guard guard(source.wait_lock_);
  if (source.Reached(position)) return 0;
  wait_position_ = position;
  uint64_t serial = Park({ParkReason::kPosition, &source, &Stream::Unlink, &source, position});
  if (serial == 0) return 0;
  next_waiter_ = source.waiters_;
  source.waiters_ = this;
  return serial;
}

void Stream::Fulfil() {
  {
    std::lock_guard guard(run_lock_);
    if (Apply(StreamCommand::kFulfil) != StreamState::kReady) return;
    place_ = {};
  }
  Offered();
}

// The stream has become ready: it runs on this thread next, or on any.
void Stream::Offered() {
  Runner* runner = Runner::Current();
  if (runner != nullptr && runner->Keep(*this, kUnknownCost)) return;
  TheEngine().MakeReady(*this, kUnknownCost);
}

ParkPlace Stream::parked_at() {
  if (state() != StreamState::kParked) return {};
  std::lock_guard guard(run_lock_);
  return state() == StreamState::kParked ? place_ : ParkPlace{};
}

void Stream::LimitPark(uint64_t serial, int64_t deadline_ns) noexcept {
  std::exception_ptr failure;
  try {
    return TheEngine().WatchDeadline(*this, serial, deadline_ns);
  } catch (...) {
    failure = std::current_exception();
  }
  CancelPark(serial, failure);  // better than to wait for ever
}

bool Stream::CancelPark(uint64_t serial, const std::exception_ptr& failure) {
  for (;;) {
    {
      std::lock_guard guard(run_lock_);
      if (state() != StreamState::kParked || park_serial() != serial || place_.cancel == nullptr)
        return false;
      CancelResult result = place_.cancel(place_.where, *this);
      if (result == CancelResult::kGone) return false;
      if (result == CancelResult::kDone) {
        timed_out_ = true;
        park_failure_ = failure;
        place_ = {};
        Apply(StreamCommand::kFulfil);
        break;
      }
    }
    CpuRelax();
  }
  Offered();
  return true;
}

// Takes a waiter off the list of the stream that it waits for.
CancelResult Stream::Unlink(void* source, Stream& waiter) {
  Stream& stream = *static_cast<Stream*>(source);
  std::unique_lock guard(stream.wait_lock_, std::try_to_lock);
  if (!guard.owns_lock()) return CancelResult::kBusy;
  Stream** link = &stream.waiters_;
  while (*link != nullptr && *link != &waiter) link = &(*link)->next_waiter_;
  if (*link == nullptr) return CancelResult::kGone;
  *link = waiter.next_waiter_;
  return CancelResult::kDone;
}

}  // namespace belay::rt
