// A model instance (aclmdlRI): a finished TaskGraph that programs execute again and again, or the graph
// that a capture is still building.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/handle_table.h"
#include "base/ref_count.h"
#include "runtime/event.h"
#include "runtime/model_tasks.h"
#include "runtime/replay.h"
#include "runtime/task_graph.h"

namespace belay::rt {

// What one replay works on, for graphs whose tasks look their addresses up when they run.
class LaunchArguments {
 public:
  virtual ~LaunchArguments() = default;
  // The replay is about to begin, and the one before it is over.
  virtual void Bind() noexcept = 0;
  virtual void Ranges(RangeVisitor& visit) const = 0;
};

class ModelRI {
 public:
  static constexpr bool kPersistent = true;

  // Called by the handle table.
  void Open(Device& device, uint32_t id);
  void Close();

  uint32_t id() const { return id_; }
  Device& device() const { return *device_; }
  bool building() const { return !finished_.load(std::memory_order_acquire); }
  const TaskGraph& graph() const { return *graph_; }
  void Finish(std::unique_ptr<TaskGraph> graph);

  // Queues one replay. Replays of one instance run one after another, in the order of these calls.
  // Throws when memory that the graph uses was freed, or when the stream cannot take it.
  void Execute(Stream& stream, std::unique_ptr<LaunchArguments> arguments = nullptr);
  // Where the latest replay was queued.
  Event::Binding last_launch();

  // Runs (or goes on with) the replay with this turn, at the head of `stream`; false: it parked the
  // stream. EndTurn when the launch is over, or was dropped.
  bool Proceed(Stream& stream, uint64_t turn);
  void EndTurn(uint64_t turn);
  // What the replay with this turn touches.
  void Ranges(uint64_t turn, RangeVisitor& visit);
  void RangesOf(const std::vector<uint32_t>& nodes, RangeVisitor& visit) const;

  // Handles of its streams; made when first asked for.
  std::vector<HandleBits> Streams();

  void SetName(std::string name);
  std::string name();
  using DestroyCallback = void (*)(void*);
  void AddDestroyCallback(DestroyCallback callback, void* data);
  bool RemoveDestroyCallback(DestroyCallback callback);

  // Drops the handle; the instance goes when its queued replays have run.
  static void Destroy(ModelRI& model);
  void Ref() { refs_.Add(); }
  bool TryRef() { return refs_.TryAdd(); }
  void Unref();

 private:
  // A replay that was asked for and is not over. They run one after another, whatever their streams.
  struct Turn {
    uint64_t number;
    Stream* stream;
    uint64_t position;  // 0 until Execute knows it
    Stream* parked;     // waiting at this turn
    std::unique_ptr<LaunchArguments> arguments;
    bool bound = false;
  };
  void CheckBlocks();
  uint64_t AddTurn(Stream& stream, std::unique_ptr<LaunchArguments> arguments);
  bool MyTurn(Stream& stream, uint64_t turn, bool* dropped);
  static CancelResult CancelTurn(void* model, Stream& stream);

  Device* device_ = nullptr;
  uint32_t id_ = 0;
  RefCount refs_;
  std::unique_ptr<TaskGraph> graph_;
  std::unique_ptr<Replay> replay_;
  std::atomic<bool> finished_{false};

  std::mutex submit_lock_;  // held over Submit, which may wait for room: tasks never take it
  SpinLock turns_lock_;
  std::deque<Turn> turns_;
  uint64_t turns_taken_ = 0;
  Event::Binding last_;

  std::mutex lock_;
  uint64_t checked_frees_ = ~uint64_t{0};  // FreeCount() when the blocks were last looked at
  std::string name_;
  std::unique_ptr<ModelInventory> inventory_;
  std::vector<std::pair<DestroyCallback, void*>> callbacks_;
};

using ModelTable = HandleTable<ModelRI, HandleKind::kModel, 1u << 20>;
ModelTable& Models();

// The number of the model that the task launches; -1: it is no launch.
int64_t ModelOfLaunch(const Task& task) noexcept;

}  // namespace belay::rt
