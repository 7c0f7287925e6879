// A plan on its way through a stream: the plan, its workspace, and the addresses as they were when
// it was submitted. It owns all three, so it runs right however often a captured model is replayed
// and whatever has become of the executor and the tensors.
#pragma once

#include <string>

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

}  // namespace belay::api
