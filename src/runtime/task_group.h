// Task groups: operators of a captured model that the program may replace later, again and again
// (aclmdlRICaptureTaskGrpBegin and its kin).
//
// The graph around a group never changes. What the group runs is a version: a list of tasks that is made
// by an update, never altered, and published when the update's turn comes on its stream. A replay takes
// the version that is the latest when it reaches the group, and keeps it to the end of the group. So an
// update that was issued after the launch still counts, if the model waits (aclrtValueWait) until it is
// done: that is how programs overlap the two.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/handle_table.h"
#include "base/spin_lock.h"
#include "runtime/block_use.h"
#include "runtime/task.h"

namespace belay::rt {

class Device;
class Stream;

// What a group runs. Owns its tasks.
struct GroupVersion {
  GroupVersion() = default;
  GroupVersion(const GroupVersion&) = delete;
  GroupVersion& operator=(const GroupVersion&) = delete;
  ~GroupVersion();
  void NoteBlocks();

  std::vector<Task> tasks;
  std::vector<UsedBlock> blocks;
};

class TaskGroup {
 public:
  TaskGroup(Device& device, uint32_t model) : device_(device), model_(model) {}

  Device& device() const { return device_; }
  uint32_t model() const { return model_; }
  bool sealed() const { return sealed_.load(std::memory_order_acquire); }
  size_t size() const { return size_; }

  // While the graph is made: takes over a captured task and gives the one that stands for it there.
  Task Adopt(Task&& task);
  void Seal();

  void Publish(std::shared_ptr<const GroupVersion> version);
  // The same in the order of the calls, for those who judge by them: an update that was issued counts for
  // what is issued behind it.
  void Announce(std::shared_ptr<const GroupVersion> version);
  void RunStep(uint32_t step);
  std::shared_ptr<const GroupVersion> latest();
  std::shared_ptr<const GroupVersion> announced();

  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref();
  // The graph, or the capture, is gone: the handle is no more.
  void Release();

 private:
  void CheckBlocks() const;

  Device& device_;
  const uint32_t model_;
  std::atomic<uint32_t> refs_{1};
  std::atomic<bool> sealed_{false};
  size_t size_ = 0;
  std::shared_ptr<GroupVersion> first_;  // until it is sealed
  SpinLock lock_;
  std::shared_ptr<const GroupVersion> latest_, announced_;  // under lock_
  std::shared_ptr<const GroupVersion> running_;  // of the replay that is in the group: there is only one
};

using TaskGroupTable = HandleTable<TaskGroup, HandleKind::kTaskGroup, 1u << 20>;
TaskGroupTable& TaskGroups();

// An update under way on a stream.
class TaskUpdate {
 public:
  // Throws when the stream or the group cannot take one.
  static void Begin(Stream& stream, TaskGroup& group);
  // Queues what was collected. Throws when it does not match the group; the stream is free in any case.
  static void End(Stream& stream);

  ~TaskUpdate();
  // From Stream::Submit. False: no task for a group, and left alone.
  bool Take(Task& task);
  [[noreturn]] static void Refuse(Stream& stream, Task&& task);

 private:
  explicit TaskUpdate(TaskGroup& group);
  TaskGroup* group_;
  std::shared_ptr<GroupVersion> version_ = std::make_shared<GroupVersion>();
};

}  // namespace belay::rt
