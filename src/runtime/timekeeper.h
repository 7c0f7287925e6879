// One thread, started when first needed, that watches what no worker may wait for: time limits of parked
// streams, and streams parked until a value in memory changes.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/spin_lock.h"

namespace belay::rt {

class Stream;

class Timekeeper {
 public:
  Timekeeper() = default;
  ~Timekeeper() { Stop(); }

  void WatchDeadline(Stream& stream, uint64_t park_serial, int64_t deadline_ns);
  void WatchPoll(Stream& stream, uint64_t park_serial, std::function<bool()> ready);
  bool ForgetPoll(Stream& stream);
  void Stop();
  void Restart();

 private:
  struct Deadline {
    Stream* stream;
    uint64_t park_serial;
    int64_t at_ns;
  };
  struct Poll {
    Stream* stream;
    uint64_t park_serial;
    std::function<bool()> ready;
  };
  static void* Main(void* self);
  void Watch();
  int64_t CheckAll(int64_t now);
  void Kick();

  SpinLock lock_;
  std::vector<Deadline> deadlines_;
  std::vector<Poll> polls_;
  bool started_ = false;
  pthread_t thread_{};
  std::atomic<bool> stop_{false};
  std::atomic<uint32_t> epoch_{0};
};

}  // namespace belay::rt
