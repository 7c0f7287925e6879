// One replay of a TaskGraph at a time: the counters of a launch.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/spin_lock.h"
#include "runtime/stream.h"
#include "runtime/task_graph.h"
#include "runtime/thread_engine.h"

namespace belay::rt {

struct PollTask;
class Progress;

class Replay final : private Offer {
 public:
  // `model`: its number.
  Replay(const TaskGraph& graph, uint32_t model);

  // Runs the graph for the launch task at the head of `stream`, with what other workers join in.
  // False: nothing can go on before something outside happens; the stream is parked. Throws the first
  // failure of a task (a FailedPart) when all is done.
  bool Proceed(Stream& stream);

 private:
  struct alignas(64) Lane {
    std::atomic<uint32_t> progress{0};
    std::atomic<bool> owned{false};
    std::atomic<bool> call_done{false};
    bool call_pending = false;  // a host function of this lane is under way (owner only)
    int64_t wait_until_ns = 0;  // when the wait that this lane stands at gives up; 0: never, or not begun
  };
  enum class LaneEnd { kDone, kBlocked, kOutside };

  void RunProgram(Stream& stream);
  void RunWatchedProgram(Stream& stream);
  void RunInAnyOrder(Stream& stream, Engine& engine);
  void RunNode(const Stream& stream, uint32_t node);
  uint32_t NodeOf(const Task& task) const noexcept;
  void Start(Stream& stream);
  bool RunLanes(Stream& stream);
  bool ParkForOutside(Stream& stream);
  bool WatchPolls(Stream& stream) noexcept;
  void Unwatch(Stream& stream) noexcept;
  void Work() noexcept override;
  bool SweepLanes(bool* moved);
  template <bool kWatched>
  LaneEnd RunLane(Lane& lane, const std::vector<LaneItem>& items);
  bool RunBlocking(Lane& lane, const Task& task);
  bool RunPoll(Lane& lane, const Task& task);
  bool RunProgress(Lane& lane, const Task& task);
  bool StartCall(Lane& lane, const Task& task);
  void RunInLane(const Task& task);
  void RunWatched(const Lane& lane, const Task& task);
  void Failed(const Task& task, TaskFailure&& failure) noexcept;
  void FailedLocked(const Task& task, TaskFailure&& failure) noexcept;
  TaskFailure AtNode(uint32_t node, TaskFailure&& failure) const noexcept;
  static CancelResult CancelPark(void* replay, Stream& stream);
  static void CallDone(void* lane_call);
  CancelResult WithdrawCalls();
  const Task* BlockedAt(size_t lane) const;
  const PollTask* PollOf(size_t lane) const;
  const Progress* ProgressOf(size_t lane) const;
  bool WaitsForWords(size_t lane) const { return PollOf(lane) != nullptr || ProgressOf(lane) != nullptr; }
  bool AnyPollReady();
  bool Done() const { return lanes_done_.load(std::memory_order_acquire) == lane_count_; }

  const TaskGraph& graph_;
  const uint32_t model_;
  std::unique_ptr<Lane[]> lanes_;
  size_t lane_count_;
  size_t first_lane_ = 0;     // that a sweep looks at
  Stream* stream_ = nullptr;  // that launches it, once it has started
  bool started_ = false;
  bool watched_ = false;  // the timekeeper looks at polled values
  // Whether other processes may write one of them, so that they have to be looked at again and again.
  std::atomic<bool> from_outside_{true};
  std::atomic<uint32_t> lanes_done_{0};
  std::atomic<bool> failed_{false};
  SpinLock lock_;  // its holder may be the last to touch the replay: unlocking is one store
  std::optional<TaskFailure> failure_;  // the first one, under lock_
  Stream* parked_ = nullptr;            // under lock_
  bool outside_changed_ = false;        // under lock_
  struct LaneCall {
    Replay* replay;
    Lane* lane;
  };
  std::vector<LaneCall> calls_;  // one a lane: the context of its host function
};

}  // namespace belay::rt
