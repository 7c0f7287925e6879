// Who runs ready streams. Two engines: threads (thread_engine.h), and one for tests that runs the task
// that the test picks (step_engine.h). One is installed at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/relaxed.h"
#include "runtime/task.h"

namespace belay::rt {

class Stream;

// What a stream waits for until it is found to be so.
struct Poll {
  std::function<bool()> ready;
  const void* address = nullptr;  // of the value; null: there are several
  // Whether others than this process may write it, so that it has to be looked at again and again. Null: yes.
  const std::atomic<bool>* from_outside = nullptr;
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Ends the threads after their current task.
  virtual void Stop() {}
  // As Stop, but leaves a thread alone that a long task or a deadlock of the program keeps; false then.
  virtual bool StopForExit() { return true; }

  // Whether a seed decides about everything that may go one way or another (explore_engine.h).
  bool explores() const { return explores_; }
  // Then: one of n.
  virtual uint32_t Choose(uint32_t /*n*/) { return 0; }
  // Then: the program was told that something is not over yet.
  virtual void AskedInVain() {}

  // Whether streams wait for a worker. A hint, for whoever could take one soon.
  bool has_ready() const { return ready_priorities_.load(std::memory_order_relaxed) != 0; }
  // The same for streams of a higher priority, which is a lower number.
  bool has_ready_above(uint32_t priority) const {
    return (ready_priorities_.load(std::memory_order_relaxed) & ((1u << priority) - 1)) != 0;
  }
  // Whether something waits that should be taken at once.
  bool has_urgent() const { return has_urgent_.load(std::memory_order_acquire); }

  // `stream` has just become ready; its next task costs about `cost`.
  virtual void MakeReady(Stream& stream, TaskCost cost) = 0;
  // A worker is about to spend long inside one task, or comes back: others must not count on it.
  virtual void EnterLongTask() {}
  virtual void LeaveLongTask() {}
  // A host asks for a ready stream again and again: it should not be left alone for a moment.
  void Hurry() {
    if (has_ready() && !has_urgent()) has_urgent_.store(true, std::memory_order_release);
  }

  // Whether threads that submit run small tasks themselves.
  bool runs_at_once() const { return runs_at_once_; }
  // Returns what it was before.
  bool SetRunsAtOnce(bool on) {
    const bool before = runs_at_once_;
    runs_at_once_ = on;
    return before;
  }

  // Blocks the calling host thread until the stream has completed `position`; false when the deadline
  // (NowNs, negative: none) came first. Without a deadline it may run tasks meanwhile.
  bool WaitFor(Stream& stream, uint64_t position, int64_t deadline_ns);

  // Asked by calls that queue a wait with a limit or for a value: throws where nobody could watch it.
  virtual void NeedWatch() {}
  // Watches a parked stream: cancels its wait at the deadline.
  virtual void WatchDeadline(Stream& stream, uint64_t park_serial, int64_t deadline_ns) = 0;
  // Watches a stream that is about to park with this serial number: once it has parked, and the poll says
  // so, fulfils it.
  virtual void WatchPoll(Stream& stream, uint64_t park_serial, const Poll& poll) = 0;
  // To be called when the stream has parked: what was written while it did so counts, too.
  virtual void LookAtPoll(Stream&) {}
  // Takes the stream off the watch, and says whether it was watched. Afterwards it is not looked at.
  virtual bool ForgetPoll(Stream& stream) = 0;
  // This process has written what polls may wait for at this address; null: others may write from now on what
  // only this process wrote. Cheap while nobody waits for a value.
  void Wrote(const void* address) {
    if (polls_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      LookAtPolls(address);
  }

 protected:
  virtual bool Await(Stream& stream, uint64_t position, int64_t deadline_ns) = 0;
  // Looked at all the time, written seldom: apart from what is written often.
  alignas(64) std::atomic<uint32_t> ready_priorities_{0};  // bit p: a stream of priority p is ready
  std::atomic<bool> has_urgent_{false};
  Relaxed<bool> runs_at_once_ = false;
  bool explores_ = false;
  std::atomic<int> polls_{0};  // that are watched
  virtual void LookAtPolls(const void* /*address*/) {}
};

// Up to here a task is not worth handing over: the thread that submits it to an idle stream has run it
// before another core would have its cache lines.
inline constexpr TaskCost kAtOnce = 200;
// Tasks from here on are worth waking a sleeping worker for: about what a wake costs.
inline constexpr TaskCost kLongTask = 50'000;
// And from here on worth moving to another core.
inline constexpr TaskCost kWorthSharing = 2000;

Engine& TheEngine();
void InstallEngine(Engine* engine);

// While a thread runs streams it has a Runner: the place for the one stream that its last task made
// ready, so that the successor runs here, while its data is in this core's cache, without a lock.
class Runner {
 public:
  Runner();
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  static Runner* Current();

  // Keeps a stream for later if there is none yet; false: the caller makes it ready for everybody.
  bool Keep(Stream& stream, TaskCost cost);
  bool keeps() const { return kept_ != nullptr; }
  // The kept stream, or null.
  Stream* Take();
  // Called before each task: once work worth sharing is ahead, gives the kept stream to everybody.
  void BeforeTask(TaskCost cost) {
    ++tasks_;
    if (kept_ != nullptr && (spent_ += cost) > kShareAfter) [[unlikely]]
      Share();
    if (in_long_task_ || cost >= kLongTask) [[unlikely]]
      NoteLength(cost);
  }
  // How many nanoseconds a stream that somebody feeds is left alone before the next look at it.
  int64_t Lag();
  // Called when a stream was run to its end or parked.
  void EndRun() {
    if (in_long_task_) [[unlikely]]
      NoteLength(0);
  }

 private:
  static constexpr uint64_t kShareAfter = 3000;  // ns
  static constexpr int64_t kLeastLag = 1000;     // ns
  void Share();
  void NoteLength(TaskCost cost);
  bool in_long_task_ = false;
  Stream* kept_ = nullptr;
  TaskCost kept_cost_ = 0;
  uint64_t spent_ = 0;
  uint64_t tasks_ = 0;  // since Lag was asked last
  int64_t lag_ = kLeastLag;
  Runner* outer_;
};

}  // namespace belay::rt
