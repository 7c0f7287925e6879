#include "runtime/timekeeper.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/thread.h"
#include "runtime/stream.h"

namespace belay::rt {
namespace {
constexpr int64_t kLeastPause = 20'000;
constexpr int64_t kMostPause = 1'000'000;
constexpr int64_t kPartOfWait = 8;
}  // namespace

int64_t Timekeeper::Pause(int64_t waited_ns) {
  return std::clamp(waited_ns / kPartOfWait, kLeastPause, kMostPause);
}

// The stream may still be about to park.
bool Timekeeper::Watched::parked() const { return stream->park_serial() >= park_serial; }

void Timekeeper::WatchDeadline(Stream& stream, uint64_t park_serial, int64_t deadline_ns) {
  {
    std::lock_guard guard(lock_);
    deadlines_.push_back({&stream, park_serial, deadline_ns});
  }
  Kick();
}

void Timekeeper::WatchPoll(Stream& stream, uint64_t park_serial, const Poll& poll) {
  int64_t now = NowNs();
  bool from_outside;
  {
    std::lock_guard guard(lock_);
    polls_.push_back({&stream, park_serial, poll, now, now + kLeastPause});
    Count();
    from_outside = polls_.back().from_outside();
  }
  if (from_outside) Kick();
}

bool Timekeeper::ForgetPoll(Stream& stream) {
  std::lock_guard guard(lock_);
  bool found = std::erase_if(polls_, [&](const Watched& p) { return p.stream == &stream; }) > 0;
  Count();
  return found;
}

// One at a time, so that nothing has to be kept: few streams wait for values, and fewer for the same.
template <class Wanted>
void Timekeeper::FulfilReady(Wanted wanted) {
  for (;;) {
    Stream* ready;
    {
      std::lock_guard guard(lock_);
      auto found = std::find_if(polls_.begin(), polls_.end(),
                                [&](const Watched& p) { return wanted(p) && p.parked() && p.poll.ready(); });
      if (found == polls_.end()) return;
      ready = found->stream;
      polls_.erase(found);
      Count();
    }
    ready->Fulfil();
  }
}

void Timekeeper::Look(Stream& stream) {
  FulfilReady([&](const Watched& p) { return p.stream == &stream; });
}

void Timekeeper::LookAt(const void* address) {
  FulfilReady([&](const Watched& p) {
    return address == nullptr || p.poll.address == nullptr || p.poll.address == address;
  });
  if (address == nullptr) Kick();
}

bool Timekeeper::StartLocked() {
  if (!started_ && !stop_.load(std::memory_order_relaxed))
    started_ = StartThread(&thread_, "belay-time", &Timekeeper::Main, this);
  return started_ || stop_.load(std::memory_order_relaxed);
}

void Timekeeper::Need() {
  bool started;
  {
    std::lock_guard guard(lock_);
    started = StartLocked();
  }
  if (started) return;
  Fail(codes::kRtResourceAllocFail, "no-timekeeper-thread",
       "no thread could be started that ends waits at their limits and looks at values; raise the limit on "
       "processes (ulimit -u)");
}

// Whoever queued the wait has seen to it that there is a thread (Need), so that this finds it.
void Timekeeper::Kick() {
  bool started;
  {
    std::lock_guard guard(lock_);
    started = StartLocked();
  }
  if (!started && LogWanted(LogLevel::kError)) {
    WriteLog(LogLevel::kError, "ASCENDCL", "no thread could be started: limits of waits are not kept");
  }
  epoch_.fetch_add(1, std::memory_order_release);
  FutexWake(epoch_);
}

void Timekeeper::Stop() {
  {
    std::lock_guard guard(lock_);
    stop_.store(true, std::memory_order_release);  // nothing starts from now on
    if (!started_) return;
    started_ = false;
  }
  epoch_.fetch_add(1, std::memory_order_release);
  FutexWake(epoch_);
  pthread_join(thread_, nullptr);
}

void Timekeeper::Restart() {
  std::lock_guard guard(lock_);
  deadlines_.clear();
  polls_.clear();
  Count();
  stop_.store(false, std::memory_order_release);
}

void* Timekeeper::Main(void* self) {
  static_cast<Timekeeper*>(self)->Watch();
  return nullptr;
}

void Timekeeper::Watch() {
  for (;;) {
    uint32_t epoch = epoch_.load(std::memory_order_acquire);  // before the look at what it announces
    if (stop_.load(std::memory_order_relaxed)) return;
    int64_t sleep = CheckAll(NowNs());
    if (sleep != 0) FutexWait(epoch_, epoch, sleep);
  }
}

// Ends what is due and returns how long to sleep (negative: until kicked).
int64_t Timekeeper::CheckAll(int64_t now) {
  std::array<Deadline, 32> due;  // what does not fit is due at the next look, which is at once
  size_t due_count = 0;
  int64_t next = INT64_MAX;
  {
    std::lock_guard guard(lock_);
    std::erase_if(deadlines_, [&](const Deadline& d) {
      if (d.stream->park_serial() != d.park_serial) return true;  // that park is over
      if (d.at_ns > now || due_count == due.size()) {
        next = std::min(next, d.at_ns);
        return false;
      }
      due[due_count++] = d;
      return true;
    });
  }
  for (size_t i = 0; i < due_count; ++i) due[i].stream->CancelPark(due[i].park_serial);
  FulfilReady([&](const Watched& p) { return p.from_outside() && p.next_ns <= now; });
  {
    std::lock_guard guard(lock_);
    for (Watched& p : polls_) {
      if (!p.from_outside()) continue;
      if (p.next_ns <= now) p.next_ns = now + (p.parked() ? Pause(now - p.since_ns) : kLeastPause);
      next = std::min(next, p.next_ns);
    }
  }
  return next == INT64_MAX ? -1 : std::max<int64_t>(next - now, 1);
}

}  // namespace belay::rt
