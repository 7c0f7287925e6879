#include "runtime/task_group.h"

#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "base/error_about.h"
#include "base/fork.h"
#include "runtime/context.h"
#include "runtime/memory.h"
#include "runtime/run_task.h"
#include "runtime/stream.h"

namespace belay::rt {
namespace {

constinit TaskGroupTable g_groups;
[[maybe_unused]] const bool g_task_group_at_fork = UnlockInChild<g_groups>();

// Stands in the graph for one task of a group.
struct GroupStepTask {
  static constexpr const char* kName = "operator";
  static constexpr TaskKind kKind = TaskKind::kOperator;
  TaskGroup* group;  // lives as long as the graph
  uint32_t step;

  void Run() const { group->RunStep(step); }
  void Ranges(RangeVisitor& visit) const {
    std::shared_ptr<const GroupVersion> version = group->announced();
    if (step == 0) visit.TakesGroup(TaskGroups().HandleOf(group));
    const Task& task = version->tasks[step];
    if (task.type->ranges != nullptr) task.type->ranges(task.payload, visit);
  }
  void Describe(std::string& out) const {
    std::shared_ptr<const GroupVersion> version = group->latest();
    const Task& task = version->tasks[step];
    if (task.type->describe != nullptr) task.type->describe(task.payload, out);
  }
};

// Publishes a version when the stream gets there.
struct UpdateTask {
  static constexpr const char* kName = "task update";
  TaskGroup* group;
  std::shared_ptr<const GroupVersion> version;

  UpdateTask(TaskGroup* g, std::shared_ptr<const GroupVersion> v) : group(g), version(std::move(v)) {
    g->Ref();
  }
  UpdateTask(UpdateTask&& o) noexcept
      : group(std::exchange(o.group, nullptr)), version(std::move(o.version)) {}
  ~UpdateTask() {
    if (group != nullptr) group->Unref();
  }
  void Run() const { group->Publish(version); }
  void Ranges(RangeVisitor& visit) const { visit.ReplacesGroup(TaskGroups().HandleOf(group)); }
};

}  // namespace

TaskGroupTable& TaskGroups() { return g_groups; }

GroupVersion::~GroupVersion() {
  for (Task& task : tasks) task.Destroy();
}

void GroupVersion::NoteBlocks() {
  BlockCollector collector(&blocks);
  for (const Task& task : tasks) {
    if (task.type->ranges != nullptr) task.type->ranges(task.payload, collector);
    ++collector.node;
  }
}

// --- groups

Task TaskGroup::Adopt(Task&& task) {
  if (first_ == nullptr) first_ = std::make_shared<GroupVersion>();
  TaskCost cost = task.cost;
  uint32_t call = task.call;
  first_->tasks.push_back(task);
  Task step = MakeTask(GroupStepTask{this, static_cast<uint32_t>(first_->tasks.size() - 1)}, cost);
  step.call = call;
  return step;
}

void TaskGroup::Seal() {
  if (first_ == nullptr) first_ = std::make_shared<GroupVersion>();
  first_->NoteBlocks();
  size_ = first_->tasks.size();
  Announce(first_);
  Publish(std::exchange(first_, nullptr));
  sealed_.store(true, std::memory_order_release);
}

void TaskGroup::Publish(std::shared_ptr<const GroupVersion> version) {
  std::lock_guard guard(lock_);
  latest_.swap(version);  // the old one goes outside of the lock, with the argument
}

void TaskGroup::Announce(std::shared_ptr<const GroupVersion> version) {
  std::lock_guard guard(lock_);
  announced_.swap(version);
}

std::shared_ptr<const GroupVersion> TaskGroup::announced() {
  std::lock_guard guard(lock_);
  return announced_;
}

std::shared_ptr<const GroupVersion> TaskGroup::latest() {
  std::lock_guard guard(lock_);
  return latest_;
}

// The steps of a group follow one another in the graph, and replays of one model never overlap.
void TaskGroup::RunStep(uint32_t step) {
  if (step == 0) {
    running_ = latest();
    CheckBlocks();
  }
  if (std::optional<TaskFailure> failure = RunTask(running_->tasks[step])) [[unlikely]]
    throw FailedPart{std::move(*failure)};
}

void TaskGroup::CheckBlocks() const {
  for (const UsedBlock& block : running_->blocks) {
    if (BlockSerial(block.address) == block.serial) continue;
    FailAbout(
        block.address, codes::kRtParamInvalid, "group-memory-freed",
        "the block at {} that task {} of a task group of model {} uses was freed; keep it until the group was "
        "updated or the model destroyed, or update the group before this replay",
        block.address, block.node, model_);
  }
}

void TaskGroup::Unref() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) g_groups.Recycle(this);
}

void TaskGroup::Release() {
  if (g_groups.Retire(g_groups.HandleOf(this)) != nullptr) Unref();
}

// --- updates

TaskUpdate::TaskUpdate(TaskGroup& group) : group_(&group) { group.Ref(); }
TaskUpdate::~TaskUpdate() { group_->Unref(); }

void TaskUpdate::Begin(Stream& stream, TaskGroup& group) {
  if (!group.sealed()) {
    Fail(codes::kRtParamInvalid, "model-building",
         "model {} is still being captured; call aclmdlRICaptureEnd first", group.model());
  }
  if (&group.device() != &stream.context().device()) {
    Fail(
        codes::kRtModelContext, "update-device",
        "the task group belongs to model {} on device {}, stream {} is on device {}; update it on a stream of its "
        "own device",
        group.model(), group.device().id(), stream.id(), stream.context().device().id());
  }
  if (stream.BeginUpdate(std::unique_ptr<TaskUpdate>(new TaskUpdate(group)))) return;
  Fail(codes::kRtParamInvalid, "update-twice",
       "stream {} {}; use another stream for the update, or end that first", stream.id(),
       stream.capture() != nullptr ? "is being captured" : "has a task update under way already");
}

bool TaskUpdate::Take(Task& task) {
  if (task.type->kind != TaskKind::kOperator) return false;
  version_->tasks.push_back(task);
  return true;
}

void TaskUpdate::Refuse(Stream& stream, Task&& task) {
  const char* name = task.type->name;
  task.Destroy();
  Fail(codes::kRtTaskTypeNotSupport, "update-task-kind",
       "stream {} has a task update under way, which takes operators only, not '{}'; call "
       "aclmdlRICaptureTaskUpdateEnd first",
       stream.id(), name);
}

void TaskUpdate::End(Stream& stream) {
  std::unique_ptr<TaskUpdate> update = stream.TakeUpdate();
  if (update == nullptr) {
    Fail(codes::kRtParamInvalid, "update-not-begun",
         "stream {} has no task update under way; call aclmdlRICaptureTaskUpdateBegin first", stream.id());
  }
  size_t given = update->version_->tasks.size();
  size_t wanted = update->group_->size();
  if (given != wanted) {
    Fail(codes::kRtParamInvalid, "update-count",
         "the update has {} task{}, its group {}; issue the same operators again that were captured between "
         "aclmdlRICaptureTaskGrpBegin and aclmdlRICaptureTaskGrpEnd",
         given, given == 1 ? "" : "s", wanted);
  }
  update->version_->NoteBlocks();
  stream.Submit(MakeTask(UpdateTask(update->group_, update->version_)));
  update->group_->Announce(std::move(update->version_));
}

}  // namespace belay::rt
