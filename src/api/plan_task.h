// A plan on its way through a stream: the plan, its workspace, and the addresses as they were when
// it was submitted. It owns all three, so it runs right however often a captured model is replayed
// and whatever has become of the executor and the tensors.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "ops/overlap.h"
#include "ops/plan.h"
#include "runtime/task.h"

namespace belay::api {

class PlanTask {
 public:
  static constexpr const char* kName = "operator";
  static constexpr rt::TaskKind kKind = rt::TaskKind::kOperator;

  PlanTask(ops::PlanRef plan, void* workspace);
  PlanTask(PlanTask&& other) noexcept;
  PlanTask& operator=(PlanTask&&) = delete;
  ~PlanTask();

  void Run() const;
  // These bindings are read from copies that are made first, in the workspace, where the plan has room for
  // them there, else in `own`, one behind the other; and these are written to copies there.
  void RunWithCopies(const ops::Copied& copied, char* own) const;
  // The kernel that lays out what goes to other ranks.
  void RunBefore() const;
  // What they take of `own`.
  int64_t OwnBytes(const ops::Copied& copied) const;
  void Ranges(rt::RangeVisitor& visit) const;
  const char* Function() const { return plan_->function(); }

 private:
  template <class Body>
  void WithFrame(const Body& body) const;
  static constexpr int kInline = 4;
  static constexpr int kOnStack = 16;
  bool spilled() const { return plan_->binding_count() > kInline; }
  // Where the workspace has room for a copy of what a binding reads; -1: nowhere.
  int64_t RoomAt(int binding) const;
  void* const* addresses() const { return spilled() ? more_ : inline_; }

  ops::PlanRef plan_;
  void* workspace_;
  union {
    void* inline_[kInline];
    void** more_;  // and, where a run has more than fit on its stack, room for as many pointers of its own
  };
};

// The same for a plan that writes where it reads, or twice in one place.
class OverlappingPlanTask {
 public:
  static constexpr const char* kName = PlanTask::kName;
  static constexpr rt::TaskKind kKind = PlanTask::kKind;

  OverlappingPlanTask(PlanTask task, ops::Copied copied);

  void Run() const { whole_->task.RunWithCopies(whole_->copied, whole_->own.get()); }
  void Ranges(rt::RangeVisitor& visit) const { whole_->task.Ranges(visit); }
  const char* Function() const { return whole_->task.Function(); }

 private:
  struct Whole {
    PlanTask task;
    ops::Copied copied;
    std::unique_ptr<char[]> own;  // for copies that the first stage has not foreseen
  };
  std::unique_ptr<Whole> whole_;
};

// What a plan does before its exchange with other ranks, as a task of its own.
class BeforeExchangeTask {
 public:
  static constexpr const char* kName = PlanTask::kName;
  static constexpr rt::TaskKind kKind = PlanTask::kKind;

  explicit BeforeExchangeTask(PlanTask task) : task_(std::move(task)) {}

  void Run() const { task_.RunBefore(); }
  void Ranges(rt::RangeVisitor& visit) const { task_.Ranges(visit); }
  const char* Function() const { return task_.Function(); }

 private:
  PlanTask task_;
};

}  // namespace belay::api
