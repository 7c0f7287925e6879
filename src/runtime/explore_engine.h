// The engine of `belay explore`: tasks run when the program calls, one at a time, in an order that a seed
// decides. What a wait does not order shows, however fast the cores are; and a seed gives the same order
// again as long as the program makes the same calls.
//
// Seed 0 is the plain order: at each call all that can run does, the stream first that became ready first.
// Any other seed has a style (ExploreStyle): how much runs before the program waits, whether a wait runs more
// than it must, and which of the ready streams is next.
//
// Work runs as a call begins and as it ends. So a copy runs before what the program loads and stores next, or
// after it: memory that host and device share shows what they do there unordered, too.
//
// A host that makes no calls for long (it computes, or looks at memory again and again) sees the work go on
// all the same. Time decides then, so observers are told.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/spin_lock.h"
#include "runtime/stream.h"
#include "runtime/timed_engine.h"

namespace belay::rt {

// SplitMix64: the same numbers everywhere.
class SeededNumbers {
 public:
  explicit SeededNumbers(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>((Next() >> 32) * n >> 32); }
  bool Chance(uint32_t percent) { return Below(100) < percent; }

 private:
  uint64_t state_;
};

struct ExploreStyle {
  enum class Next : uint8_t {
    kOldest,      // as the streams became ready
    kAny,         // each with the same chance
    kPriorities,  // the stream with the highest of random priorities, which loses it now and then
    kSame,        // the stream of the last task while it can go on
  };
  uint32_t at_call;  // chance in percent that a task runs as a call begins, and as it ends, and then another
  bool only_needed;  // a wait runs nothing else while it can
  Next next;

  static ExploreStyle Of(uint64_t seed);
};

// What is waited for, so that time decides nothing.
struct ExplorePatience {
  int64_t silence_ns = 50'000'000;    // until a host that makes no calls counts as silent
  int64_t callback_ns = 100'000'000;  // that a step waits for the callback that it began
};

class ExploreEngine final : public TimedEngine {
 public:
  explicit ExploreEngine(uint64_t seed, ExplorePatience patience = {});
  ~ExploreEngine() override { Stop(); }

  void MakeReady(Stream& stream, TaskCost cost) override;
  void AskedInVain() override;
  uint32_t Choose(uint32_t n) override;

  // The program makes a call: no thread holds a lock for it yet.
  void HostCalls();
  // It comes back from it: no lock is held any more.
  void HostReturns();

  void Stop() override;
  bool StopForExit() override;
  // After Stop: from the seed's beginning.
  void Restart(uint64_t seed);

 private:
  bool Await(Stream& stream, uint64_t position, int64_t deadline_ns) override;
  static bool MayRunTasks();
  void RunSome();
  bool Step(Stream* goal, int64_t deadline_ns = -1);
  bool CallbackComesBack(Stream& stream);
  void LetCallbackEnd(Stream& stream, int64_t deadline_ns);
  Stream* Pick(Stream* goal);
  size_t PlaceOf(Stream* goal);
  size_t PlaceByPriority();
  uint64_t& PriorityOf(const Stream& stream);
  static Stream* NeededBy(Stream& goal);
  void Begin(uint64_t seed);
  void Notice();
  static void* SilenceMain(void* self);
  void WatchSilence();

  const ExplorePatience patience_;
  std::mutex turn_;  // of the thread that runs a task
  SpinLock lock_;    // of all that follows
  SeededNumbers numbers_{0};
  ExploreStyle style_{};
  std::vector<Stream*> ready_;  // may hold some that were run or closed since
  Stream* last_ = nullptr;
  std::unordered_map<uint32_t, uint64_t> priorities_;  // by the id of the stream; the highest is next
  uint64_t lowest_ = 0;                                // that a stream was given
  std::atomic<bool> asked_{false};
  std::atomic<bool> runs_at_end_{true};      // of calls
  std::atomic<uint32_t> callbacks_left_{0};  // that did not end while a step waited for them
  std::atomic<uint32_t> waiting_{0};         // hosts that wait on stacks large enough to run tasks
  std::atomic<uint32_t> epoch_{0};           // something became ready, ended or was called
  std::atomic<uint32_t> stop_{0};            // a word to sleep on
  bool watched_ = false;                     // the thread that looks for silence runs
  pthread_t silence_{};
};

// The installed one, or null.
ExploreEngine* TheExploreEngine();
// Threads that enter calls tell it; null: nobody any more.
void InstallExploreEngine(ExploreEngine* engine);
// Its streams are the parent's.
void AbandonExploreEngineInChild();

}  // namespace belay::rt
