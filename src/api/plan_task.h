// A plan on its way through a stream: the plan, its workspace, and the addresses as they were when
// it was submitted. It owns all three, so it runs right however often a captured model is replayed
// and whatever has become of the executor and the tensors.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

  void Run() const { RunWithCopies({}); }
  // These bindings are read from copies that are made first.
  void RunWithCopies(std::span<const int> copied) const;
  void Ranges(rt::RangeVisitor& visit) const;
  void Describe(std::string& out) const { out = plan_->function(); }

 private:
  static constexpr int kInline = 4;
  bool spilled() const { return plan_->binding_count() > kInline; }
  void* const* addresses() const { return spilled() ? more_ : inline_; }

  ops::PlanRef plan_;
  void* workspace_;
  union {
    void* inline_[kInline];
    void** more_;
  };
};

// The same for a plan that writes where it reads.
class OverlappingPlanTask {
 public:
  static constexpr const char* kName = PlanTask::kName;
  static constexpr rt::TaskKind kKind = PlanTask::kKind;

  OverlappingPlanTask(PlanTask task, std::vector<int> copied)
      : whole_(std::make_unique<Whole>(Whole{std::move(task), std::move(copied)})) {}

  void Run() const { whole_->task.RunWithCopies(whole_->copied); }
  void Ranges(rt::RangeVisitor& visit) const { whole_->task.Ranges(visit); }
  void Describe(std::string& out) const { whole_->task.Describe(out); }

 private:
  struct Whole {
    PlanTask task;
    std::vector<int> copied;
  };
  std::unique_ptr<Whole> whole_;
};

}  // namespace belay::api
