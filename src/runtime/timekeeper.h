// One thread, started when first needed, that watches what no worker may wait for: time limits of parked
// streams, and streams parked until a value in memory changes.
//
// A value that only this process writes is looked at when it writes it (Engine::Wrote), on the thread that
// does. Others are looked at again and again: at first every 20 us, then after an eighth of the time that the
// stream has waited so far, and at least every millisecond. So a wait ends an eighth later than it could at
// worst, and a long one takes next to no processor time.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/spin_lock.h"
#include "runtime/engine.h"

namespace belay::rt {

class Stream;

class Timekeeper {
 public:
  // `watched` says how many polls there are.
  explicit Timekeeper(std::atomic<int>& watched) : watched_(watched) {}
  ~Timekeeper() { Stop(); }

  // Starts the thread. Throws where the system gives none.
  void Need();
  void WatchDeadline(Stream& stream, uint64_t park_serial, int64_t deadline_ns);
  void WatchPoll(Stream& stream, uint64_t park_serial, const Poll& poll);
  bool ForgetPoll(Stream& stream);
  // Fulfils the stream if what it waits for is there.
  void Look(Stream& stream);
  // The same for all that wait for a value at this address; null: for all, and may have to be looked at again
  // and again from now on.
  void LookAt(const void* address);
  void Stop();
  void Restart();

  // How long a value is left alone that a stream has waited for so long.
  static int64_t Pause(int64_t waited_ns);

 private:
  struct Deadline {
    Stream* stream;
    uint64_t park_serial;
    int64_t at_ns;
  };
  struct Watched {
    Stream* stream;
    uint64_t park_serial;
    Poll poll;
    int64_t since_ns;
    int64_t next_ns;

    bool parked() const;
    bool from_outside() const { return poll.from_outside == nullptr || poll.from_outside->load(); }
  };
  static void* Main(void* self);
  void Watch();
  int64_t CheckAll(int64_t now);
  bool StartLocked();
  void Kick();
  template <class Wanted>
  void FulfilReady(Wanted wanted);
  void Count() { watched_.store(static_cast<int>(polls_.size())); }

  SpinLock lock_;
  std::vector<Deadline> deadlines_;
  std::vector<Watched> polls_;
  std::atomic<int>& watched_;
  bool started_ = false;
  pthread_t thread_{};
  std::atomic<bool> stop_{false};
  std::atomic<uint32_t> epoch_{0};
};

}  // namespace belay::rt
