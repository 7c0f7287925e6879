#include "runtime/stream.h"

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/thread.h"
#include "runtime/capture.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "runtime/task_group.h"

namespace belay::rt {

constinit StreamTable g_streams;

namespace {

constinit std::atomic<uint64_t> g_depth{65536};

}  // namespace

uint64_t StreamDepth() { return g_depth.load(std::memory_order_relaxed); }
void SetStreamDepth(uint64_t depth) { g_depth.store(std::max<uint64_t>(depth, 1)); }

HandleBits Stream::handle() const { return g_streams.HandleOf(this); }

StreamState Stream::Apply(StreamCommand command) {
  StreamState next = Next(state_.load(std::memory_order_relaxed), command);
  if (next != StreamState::kRefused) state_.store(next, std::memory_order_relaxed);
  return next;
}

void Stream::Open(Context& context, const StreamOptions& options, uint32_t id) {
  std::scoped_lock guard(lock_, run_lock_);
  Apply(StreamCommand::kOpen);
  idle_ = true;
  context_ = &context;
  SetPriority(options.priority);
  flags_ = options.flags;
  is_default_ = options.is_default;
  id_ = id;
  gate_ = Observers::any();
  stopped_ = false;
  closing_ = false;
  timed_out_ = false;
  callback_done_ = false;
  park_failure_ = nullptr;
  opened_at_ = queue_.tail();
  room_until_ = opened_at_ + StreamDepth();
  cut_short_.store(false, std::memory_order_relaxed);
  dropping_.store(false, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  failure_.reset();
  stop_reason_.reset();
  attributes = {};
}

void Stream::Close() {
  {
    std::scoped_lock guard(lock_, run_lock_);
    Apply(StreamCommand::kClose);
    gate_ = true;
  }
  TakeUpdate();
  // Only after the engine has stopped there is anything left.
  for (; head_ < queue_.tail(); ++head_) {
    queue_.Front(queue_.tail() - head_).Destroy();
    queue_.Pop();
  }
  CompleteRecord(head_);
  std::lock_guard guard(lock_);
  queue_.Release();
  failure_.reset();
  stop_reason_.reset();
  capture_.store(nullptr, std::memory_order_relaxed);
}

// --- submitting

inline bool Stream::TryPush(Task& task, uint64_t* position) {
  lock_.lock();
  if (gate_ || queue_.tail() >= room_until_) [[unlikely]] {
    lock_.unlock();
    return false;
  }
  *position = PushLocked<false>(task);
  return true;
}

// Under lock_, which it gives back.
template <bool kWatched>
inline uint64_t Stream::PushLocked(Task& task) {
  TaskCost cost = task.cost;
  if (idle_ && cost <= kAtOnce && MayRunAtOnce(task)) return RunAtOnce<kWatched>(task);
  try {
    queue_.Push(task);
  } catch (...) {
    lock_.unlock();
    task.Destroy();
    throw;
  }
  const uint64_t position = queue_.Publish();
  bool was_idle = idle_;
  idle_ = false;
  lock_.unlock();
  if (was_idle) MakeReady(cost);
  return position;
}

// The first task of an idle stream. Tasks that others submit meanwhile only queue behind it.
void Stream::MakeReady(TaskCost cost) {
  {
    std::lock_guard guard(run_lock_);
    Apply(StreamCommand::kSubmit);
  }
  TheEngine().MakeReady(*this, cost);
}

uint64_t Stream::Submit(Task&& task) {
  uint64_t position;
  if (TryPush(task, &position)) [[likely]]
    return position;
  return SubmitSlow(std::move(task), false);
}

uint64_t Stream::SubmitLive(Task&& task) {
  uint64_t position;
  if (TryPush(task, &position)) [[likely]]
    return position;
  return SubmitSlow(std::move(task), true);
}

uint64_t Stream::SubmitSlow(Task&& task, bool live) {
  for (;;) {
    if (Capture* capture = this->capture(); capture != nullptr) {
      if (live) {
        task.Destroy();
        return 0;
      }
      if (capture->Add(*this, std::move(task))) return 0;
      continue;  // the capture ended meanwhile
    }
    lock_.lock();
    if (closing_ || state() == StreamState::kClosed) {
      lock_.unlock();
      task.Destroy();
      Fail(codes::kRtInvalidHandle, "stream-destroyed",
           "the stream was destroyed while the call was under way");
    }
    if (stopped_) {
      TaskFailure why = *stop_reason_;
      lock_.unlock();
      task.Destroy();
      Fail(
          why.code, "stream-stopped",
          "stream {} takes no more work because a task of stream {} failed in a context that stops on failure ({}); "
          "destroy {}",
          id(), why.stream, why.Sentence(),
          options().is_default ? "the context, or reset its device" : "it and create a new one");
    }
    if (update_ != nullptr) {
      bool taken;
      try {
        taken = update_->Take(task);
      } catch (...) {
        lock_.unlock();
        task.Destroy();
        throw;
      }
      lock_.unlock();
      if (!taken) TaskUpdate::Refuse(*this, std::move(task));
      return 0;
    }
    gate_ = capture() != nullptr || Observers::any();
    room_until_ = completed() + StreamDepth();
    bool room = queue_.tail() < room_until_;
    if (room && capture() == nullptr && Observers::any()) return SubmitObserved(task);
    lock_.unlock();
    uint64_t position;
    if (!room) {
      WaitForRoom();
    } else if (TryPush(task, &position)) {
      return position;
    }
  }
}

// Under lock_, which it gives back.
uint64_t Stream::SubmitObserved(Task& task) {
  Observers::Tell([&](Observer& o) { o.Submitted(*this, queue_.tail() + 1, task); });
  if (!Observers::watch_runs()) return PushLocked<false>(task);
  const uint64_t position = PushLocked<true>(task);
  Observers::Tell([&](Observer& o) { o.Queued(*this, position); });
  return position;
}

void Stream::BeginToWatch() {
  std::lock_guard guard(lock_);
  gate_ = true;
}

void Stream::WaitForRoom() {
  // As a full hardware queue: the caller waits until an eighth of the tasks is done, not for one slot.
  uint64_t depth = StreamDepth();
  uint64_t enough = tail() - depth + std::max<uint64_t>(depth / 8, 1);
  TheEngine().WaitFor(*this, enough, -1);
}

bool Stream::EnterCapture(Capture* capture) {
  std::lock_guard guard(lock_);
  if (closing_ || this->capture() != nullptr || update_ != nullptr) return false;
  capture_.store(capture, std::memory_order_release);
  gate_ = true;  // the slow path clears it when there is no reason left
  return true;
}

void Stream::LeaveCapture() {
  std::lock_guard guard(lock_);
  capture_.store(nullptr, std::memory_order_release);
}

bool Stream::BeginUpdate(std::unique_ptr<TaskUpdate> update) {
  std::lock_guard guard(lock_);
  if (closing_ || capture() != nullptr || update_ != nullptr) return false;
  update_ = update.release();
  gate_ = true;
  return true;
}

std::unique_ptr<TaskUpdate> Stream::TakeUpdate() {
  std::lock_guard guard(lock_);
  return std::unique_ptr<TaskUpdate>(std::exchange(update_, nullptr));
}

bool Stream::updating() {
  std::lock_guard guard(lock_);
  return update_ != nullptr;
}

// --- failures

namespace {
std::atomic<FailureObserver> g_failure_observer{nullptr};
}
void SetFailureObserver(FailureObserver observer) { g_failure_observer.store(observer); }

// Nothing of this takes memory.
void Stream::StoreFailure(TaskFailure&& failure) noexcept {
  failure.stream = id();
  try {
    if (FailureObserver observe = g_failure_observer.load()) observe(*this, failure);
  } catch (...) {
    // Whoever waits for the stream learns of it all the same.
  }
  {
    std::lock_guard guard(lock_);
    if (!failure_) failure_ = failure;
    failed_.store(true, std::memory_order_relaxed);
  }
  if (!context().stops_on_failure()) [[likely]]
    return;
  context().ForEachStream([&](Stream& stream) { stream.StopWorking(failure); });
}

void Stream::NoteAbort(const Error& error) {
  TaskFailure failure = FailureOf(std::make_exception_ptr(error));
  std::lock_guard guard(lock_);
  failure.stream = id();
  failure.number = completed() + 1 - opened_at_;
  if (!failure_) failure_ = std::move(failure);
  failed_.store(true, std::memory_order_relaxed);
}

void Stream::StopWorking(const TaskFailure& why) {
  {
    std::lock_guard guard(lock_);
    if (stopped_ || state() == StreamState::kClosed) return;
    stopped_ = true;
    stop_reason_ = why;
    gate_ = true;
    if (!failed() && !Idle()) {  // whoever waits for what is dropped learns why
      failure_ = why;
      failed_.store(true, std::memory_order_relaxed);
    }
  }
  Drop();
}

std::optional<TaskFailure> Stream::TakeFailure() {
  if (!failed()) return std::nullopt;
  std::lock_guard guard(lock_);
  failed_.store(false, std::memory_order_relaxed);
  if (cut_short_.exchange(false) && !failure_) {
    failure_ = FailureOf(std::make_exception_ptr(Error(
        codes::kUninitialize, "process-ending", "the process is ending: what was not yet done was dropped")));
    failure_->stream = id();
    failure_->number = completed() - opened_at_;
  }
  return std::exchange(failure_, std::nullopt);
}

void Stream::ThrowParkFailure() {
  timed_out_ = callback_done_ = false;
  std::rethrow_exception(std::exchange(park_failure_, nullptr));
}

void Stream::RunNoMore() {
  std::lock_guard guard(run_lock_);
  dropping_.store(true, std::memory_order_relaxed);
}
void Stream::Drop() {
  RunNoMore();
  CancelPark(park_serial());  // a later park is refused
}
void Stream::CutShort() {
  if (!Idle()) {
    cut_short_.store(true);
    failed_.store(true);
  }
  const bool locked = run_lock_.TryLockAWhile();
  dropping_.store(true, std::memory_order_relaxed);
  if (!locked) return;
  run_lock_.unlock();
  CancelPark(park_serial());
}
void Stream::ResumeInExit() {
  if (!lock_.TryLockAWhile()) return;
  if (run_lock_.TryLockAWhile()) {
    if (!stopped_) dropping_.store(false, std::memory_order_relaxed);
    run_lock_.unlock();
  }
  lock_.unlock();
}
void Stream::StopAccepting() {
  std::lock_guard guard(lock_);
  closing_ = true;
  gate_ = true;
}
void Stream::StopDropping() {
  std::scoped_lock guard(lock_, run_lock_);
  if (!stopped_) dropping_.store(false, std::memory_order_relaxed);
}

// --- host threads that sleep

bool Stream::SleepUntil(uint64_t position, int64_t deadline_ns) {
  for (;;) {
    uint32_t epoch;
    {
      std::lock_guard guard(run_lock_);
      if (Reached(position)) return true;
      epoch = host_epoch_.load(std::memory_order_relaxed);
      if (position < host_target_.load(std::memory_order_relaxed)) {
        host_target_.store(position, std::memory_order_relaxed);
      }
    }
    int64_t left = -1;
    if (deadline_ns >= 0) {
      left = deadline_ns - NowNs();
      if (left <= 0) return Reached(position);
    }
    MayBeCancelled::Check();
    // The bound repairs the one case that the runner may miss: the target was set between two tasks of
    // a queue that never empties.
    constexpr int64_t kRecheck = 20'000'000;
    FutexWait(host_epoch_, epoch, left < 0 ? kRecheck : std::min(left, kRecheck));
    if (Reached(position)) return true;
  }
}

void Stream::WakeHosts(uint64_t position) {
  {
    std::lock_guard guard(run_lock_);
    if (position < host_target_.load(std::memory_order_relaxed)) return;
    host_target_.store(UINT64_MAX, std::memory_order_relaxed);
    host_epoch_.fetch_add(1, std::memory_order_relaxed);
  }
  FutexWake(host_epoch_);
}

}  // namespace belay::rt
