#include "runtime/timekeeper.h"

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "base/futex.h"
#include "base/thread.h"
#include "runtime/stream.h"

namespace belay::rt {
namespace {
// Between two looks at polled values. Short: nobody tells when the value changes.
constexpr int64_t kPollEvery = 20'000;
}  // namespace

void Timekeeper::WatchDeadline(Stream& stream, uint64_t park_serial, int64_t deadline_ns) {
  {
    std::lock_guard guard(lock_);
    deadlines_.push_back({&stream, park_serial, deadline_ns});
  }
  Kick();
}

void Timekeeper::WatchPoll(Stream& stream, uint64_t park_serial, std::function<bool()> ready) {
  {
    std::lock_guard guard(lock_);
    polls_.push_back({&stream, park_serial, std::move(ready)});
  }
  Kick();
}

bool Timekeeper::ForgetPoll(Stream& stream) {
  std::lock_guard guard(lock_);
  return std::erase_if(polls_, [&](const Poll& p) { return p.stream == &stream; }) > 0;
}

void Timekeeper::Kick() {
  {
    std::lock_guard guard(lock_);
    if (!started_ && !stop_.load(std::memory_order_relaxed))
      started_ = StartThread(&thread_, "belay-time", &Timekeeper::Main, this);
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
  std::vector<Deadline> due;
  std::vector<Stream*> ready;
  int64_t sleep = -1;
  {
    std::lock_guard guard(lock_);
    std::erase_if(deadlines_, [&](const Deadline& d) {
      if (d.stream->park_serial() != d.park_serial) return true;  // that park is over
      if (d.at_ns > now) {
        sleep = sleep < 0 ? d.at_ns - now : std::min(sleep, d.at_ns - now);
        return false;
      }
      due.push_back(d);
      return true;
    });
    std::erase_if(polls_, [&](const Poll& p) {
      if (p.stream->park_serial() < p.park_serial || !p.ready()) return false;
      ready.push_back(p.stream);
      return true;
    });
    if (!polls_.empty()) sleep = kPollEvery;
  }
  for (const Deadline& d : due) d.stream->CancelPark(d.park_serial);
  for (Stream* stream : ready) stream->Fulfil();
  return sleep;
}

}  // namespace belay::rt
