// The engine that programs use: a fixed pool of workers that run whatever stream is ready.
//
//   - Work starts without being waited for: a worker that finds nothing searches for about a
//     millisecond, then sleeps. A push wakes a sleeper only when nobody is searching and every awake
//     worker is inside a long task, or the task itself is long: a wake costs the pusher 5-7 us.
//   - A host that waits without a deadline runs tasks that its wait depends on.
//   - Everything that decides about sleeping happens under one lock that is taken only when a stream
//     changes from idle to ready, so no fence is needed anywhere.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/spin_lock.h"
#include "runtime/stream.h"
#include "runtime/timed_engine.h"

namespace belay::rt {

// Streams that are ready: those of the highest priority first, of one priority the oldest. While several
// priorities stand in it, every kTurnOfLower-th pick is one of a lower priority, each of them in turn, so
// that none starves. A stream stands in it at most once; an entry may be stale (a helping host took the
// stream), so whoever pops it still has to take the stream.
class ReadyList {
 public:
  static constexpr uint32_t kTurnOfLower = 8;

  bool Push(Stream& stream);
  Stream* Pop();
  bool empty() const { return priorities_ == 0; }
  // Bit p: a stream of priority p stands in it.
  uint32_t priorities() const { return priorities_; }

 private:
  uint32_t Pick();
  struct Queue {
    Stream* first = nullptr;
    Stream* last = nullptr;
  };
  Queue queues_[kLowestPriority + 1];
  uint32_t priorities_ = 0;
  uint32_t picks_ = 0;  // among several priorities
  uint32_t turn_ = 0;   // the lower priority that was picked last
};

// Work that several workers may do together: pieces of a ParallelFor, branches of a graph launch.
class Offer {
 public:
  virtual ~Offer() = default;
  // Does a share and returns when there is nothing left to take. What fails in it is kept in the offer, for
  // who published it.
  virtual void Work() noexcept = 0;

 private:
  friend class ThreadEngine;
  Offer* next_ = nullptr;
  int seats_ = 0;                // workers that may still join
  std::atomic<int> working_{0};  // workers inside Work
};

struct ThreadEngineConfig {
  int workers = 2;
  bool help = true;
  bool one_core = false;  // hosts and workers have to share: who has nothing to do leaves it at once
};

class ThreadEngine final : public TimedEngine {
 public:
  explicit ThreadEngine(const ThreadEngineConfig& config);
  ~ThreadEngine() override;  // stops the workers after their current task

  void MakeReady(Stream& stream, TaskCost cost) override;
  void EnterLongTask() override;
  void LeaveLongTask() override;

  int workers() const { return width_.load(std::memory_order_relaxed); }

  void Stop() override;
  // After Stop: workers again. The object stays the same, so that nobody ever holds a pointer to none.
  void Restart(const ThreadEngineConfig& config);
  bool StopForExit() override;

 private:
  bool Await(Stream& stream, uint64_t position, int64_t deadline_ns) override;
  friend class PublishedOffer;
  void Publish(Offer& offer, int seats, bool wake);
  void Withdraw(Offer& offer) noexcept;
  void StartWorkers();
  void TellToStop();
  void Stopped();
  static void* WorkerMain(void* self);
  void Work();
  Stream* NextStream();
  bool HelpOnce(Stream& stream, uint64_t position);
  bool HelpWithOffer();
  bool SharesItsCore() const;
  bool SpinFor(Stream& stream, uint64_t position, bool help);
  int FreeCores() const;
  bool OthersAtSmallWork() const;
  // What a searching worker saw at its last look at the list.
  struct Sight {
    uint64_t made_ready = 0;
    uint64_t taken = 0;
    int64_t since = 0;  // nobody has taken anything that stands there
  };
  bool WorthTaking(const Sight& before, int64_t now) const;
  bool ShouldWake(TaskCost cost) const;
  void NoteReady();
  void SearchForAWhile();
  void CallOne();
  bool JoinOffer();

  ThreadEngineConfig config_;
  std::vector<pthread_t> threads_;
  std::atomic<int> width_{0};  // how many there are; workers ask while more are being started

  alignas(64) SpinLock lock_;
  ReadyList ready_;
  uint64_t made_ready_ = 0;  // how often a stream became ready, and was taken from the list
  uint64_t taken_ = 0;
  Offer* offers_ = nullptr;
  int searching_ = 0;
  int sleeping_ = 0;
  int in_long_task_ = 0;
  int waking_ = 0;             // sleepers that were woken and have not taken the lock yet
  std::atomic<int> hosts_{0};  // waiting host threads that are awake: each has a core
  std::atomic<bool> stop_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<uint32_t> epoch_{0};
};

// An offer lies on its publisher's stack, so the workers have left it whichever way the scope is left.
class PublishedOffer {
 public:
  // Lets up to `seats` workers join; `wake` also wakes sleeping ones.
  PublishedOffer(ThreadEngine& engine, Offer& offer, int seats, bool wake) : engine_(engine), offer_(offer) {
    engine_.Publish(offer_, seats, wake);
  }
  // No worker joins any more; returns when the last one has left Work.
  ~PublishedOffer() { engine_.Withdraw(offer_); }
  PublishedOffer(const PublishedOffer&) = delete;
  PublishedOffer& operator=(const PublishedOffer&) = delete;

 private:
  ThreadEngine& engine_;
  Offer& offer_;
};

// The installed thread engine, or null when another engine is installed. Installing one also lends its
// workers to ParallelFor.
ThreadEngine* TheThreadEngine();
void InstallThreadEngine(ThreadEngine* engine);

}  // namespace belay::rt
