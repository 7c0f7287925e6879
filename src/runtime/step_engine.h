// An engine without threads for tests: it keeps the ready streams in a list and runs exactly the task
// that the test picks, so every interleaving of a small program can be walked.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/engine.h"
#include "runtime/stream.h"

namespace belay::rt {

class StepEngine final : public Engine {
 public:
  void MakeReady(Stream& stream, TaskCost) override { ready_.push_back(&stream); }
  void WatchDeadline(Stream& stream, uint64_t park_serial, int64_t) override {
    watched_.push_back({&stream, park_serial});
  }
  void WatchPoll(Stream& stream, uint64_t park_serial, const Poll& poll) override {
    watched_polls_.push_back({&stream, park_serial, poll.ready});
  }
  bool ForgetPoll(Stream& stream) override {
    return std::erase_if(watched_polls_, [&](const WatchedPoll& p) { return p.stream == &stream; }) > 0;
  }

  // Streams that could run a task now, in the order in which they became ready.
  const std::vector<Stream*>& ready();
  // Runs one task of the i-th ready stream.
  void Step(size_t i);
  // Runs the first of the highest priority until nothing is ready.
  void RunAll();
  // Drops a stream that is going away from the list.
  void Forget(Stream& stream) { std::erase(ready_, &stream); }
  // Ends all watched waits as if their time were up.
  void ExpireDeadlines();

 private:
  bool Await(Stream& stream, uint64_t position, int64_t deadline_ns) override;
  size_t First();
  struct Watched {
    Stream* stream;
    uint64_t park_serial;
  };
  struct WatchedPoll {
    Stream* stream;
    uint64_t park_serial;
    std::function<bool()> ready;
  };
  std::vector<Stream*> ready_;
  std::vector<Watched> watched_;
  std::vector<WatchedPoll> watched_polls_;
};

}  // namespace belay::rt
