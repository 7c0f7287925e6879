// The runner's side of a stream: running its tasks, parking it, letting others go on.
#include <mutex>

#include "base/error.h"
#include "runtime/engine.h"
#include "runtime/event.h"
#include "runtime/stream.h"

namespace belay::rt {

bool Stream::TryTake() {
  if (state() != StreamState::kReady) return false;
  std::lock_guard guard(lock_);
  return Apply(StreamCommand::kTake) == StreamState::kRunning;
}

Stream::RunResult Stream::Run(uint64_t until) {
  Runner* runner = Runner::Current();
  for (;;) {
    uint64_t tail = queue_.tail();
    while (head_ < tail) {
      if (head_ >= until) {
        Yield();
        return RunResult::kYielded;
      }
      Task& task = queue_.Front();
      if (runner != nullptr) runner->BeforeTask(task.cost);
      if (!RunFront(task)) return RunResult::kParked;
    }
    // Linger: a host that feeds the stream pays for a push only, not for waking and hand-over.
    if (head_ < until) {
      for (int i = 0; i < 24 && queue_.tail() == tail; ++i) CpuRelax();
      if (queue_.tail() != tail) continue;
    }
    if (TryDrain()) return RunResult::kDrained;
  }
}

// Runs the task at the head; false when it parked the stream (whose next owner may then already be
// running it: nothing of the stream may be touched).
bool Stream::RunFront(Task& task) {
  const TaskType& type = *task.type;
  if (!dropping_.load(std::memory_order_relaxed)) [[likely]] {
    try {
      if (type.run != nullptr) [[likely]] {
        type.run(task.payload);
      } else if (!type.proceed(task.payload, *this)) {
        return false;
      }
    } catch (const Error& error) {
      StoreFailure(MakeFailure(error, task));
    } catch (const std::bad_alloc&) {
      StoreFailure(MakeFailure(Error(207001, "task-out-of-memory", "host memory ran out"), task));
    }
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
  if (position >= host_target_.load(std::memory_order_relaxed)) [[unlikely]] WakeHosts(position);
  return true;
}

std::unique_ptr<TaskFailure> Stream::MakeFailure(const Error& error, const Task& task) const {
  return std::make_unique<TaskFailure>(TaskFailure{error.code(), error.id(), error.sentence(),
                                                   task.type->name, task.call, head_ + 1});
}

void Stream::Yield() {
  {
    std::lock_guard guard(lock_);
    Apply(StreamCommand::kYield);
  }
  TheEngine().MakeReady(*this, kUnknownCost);
}

bool Stream::TryDrain() {
  lock_.lock();
  if (queue_.tail() != head_) {
    lock_.unlock();
    return false;
  }
  uint64_t head = head_;
  Apply(StreamCommand::kDrain);
  bool hosts = head >= host_target_.load(std::memory_order_relaxed);
  lock_.unlock();
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
    if (waiters_ == nullptr) [[likely]] return;
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

uint64_t Stream::Park(ParkReason reason, void* where) {
  std::lock_guard guard(lock_);
  Apply(StreamCommand::kPark);
  park_reason_ = reason;
  parked_at_ = where;
  return ++park_serial_;
}

uint64_t Stream::ParkUntil(Stream& source, uint64_t position) {
  std::lock_guard guard(source.wait_lock_);
  if (source.Reached(position)) return 0;
  wait_position_ = position;
  uint64_t serial = Park(ParkReason::kPosition, &source);
  next_waiter_ = source.waiters_;
  source.waiters_ = this;
  return serial;
}

void Stream::Fulfil() {
  {
    std::lock_guard guard(lock_);
    if (Apply(StreamCommand::kFulfil) != StreamState::kReady) return;
    park_reason_ = ParkReason::kNone;
  }
  Runner* runner = Runner::Current();
  if (runner != nullptr && runner->Keep(*this, kUnknownCost)) return;
  TheEngine().MakeReady(*this, kUnknownCost);
}

Stream* Stream::parked_on() const {
  return state() == StreamState::kParked && park_reason_ == ParkReason::kPosition
             ? static_cast<Stream*>(parked_at_)
             : nullptr;
}

bool Stream::CancelPark(uint64_t serial) {
  ParkReason reason;
  void* where;
  {
    std::lock_guard guard(lock_);
    if (state() != StreamState::kParked || park_serial_ != serial) return false;
    reason = park_reason_;
    where = parked_at_;
  }
  bool unlinked = false;
  if (reason == ParkReason::kPosition) {
    unlinked = static_cast<Stream*>(where)->Unlink(*this);
  } else if (reason == ParkReason::kTicket) {
    unlinked = Event::CancelTicket(*static_cast<WaitTicket*>(where), *this);
  } else if (reason == ParkReason::kPoll) {
    unlinked = true;  // the timekeeper forgets a poll whose park has ended
  }
  if (!unlinked) return false;
  timed_out_ = true;
  Fulfil();
  return true;
}

// Takes a waiter off the list; false when it was fulfilled meanwhile.
bool Stream::Unlink(Stream& waiter) {
  std::lock_guard guard(wait_lock_);
  Stream** link = &waiters_;
  while (*link != nullptr && *link != &waiter) link = &(*link)->next_waiter_;
  if (*link == nullptr) return false;
  *link = waiter.next_waiter_;
  return true;
}

}  // namespace belay::rt
