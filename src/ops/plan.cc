#include "ops/plan.h"

#include "base/error.h"
#include "base/fork.h"
#include "ops/tiled.h"
#include "tensor/codes.h"

namespace belay::ops {

constinit PlanTable g_plans;

namespace {
[[maybe_unused]] const bool g_plan_at_fork = UnlockInChild<g_plans>();
}  // namespace

int Plan::Bind(const tensor::Tensor* tensor, Access access, const char* name, int param, int relative) {
  Binding binding{};
  binding.name = name;
  binding.access = access;
  binding.param = static_cast<uint8_t>(param);
  binding.relative = static_cast<uint16_t>(relative);
  if (tensor != nullptr) {
    binding.present = true;
    binding.address = tensor->data;
    binding.dtype = tensor->dtype;
    // Both fit: the tensor's storage bounds them and is itself bounded.
    const int64_t bits = InfoOf(tensor->dtype).bits;
    int64_t extent = ExtentOf(tensor->shape, tensor->strides).value_or(0);
    binding.first = extent == 0 ? 0 : tensor->offset * bits / 8;
    binding.end = extent == 0 ? 0 : ((tensor->offset + extent) * bits + 7) / 8;
    if (LiesInTiles(*tensor)) [[unlikely]]
      binding.first = 0, binding.end = extent == 0 ? 0 : (tensor->storage_count * bits + 7) / 8;
  }
  if (binding_count_ == kInlineBindings) {
    more_ = std::make_unique<std::vector<Binding>>(bindings_, bindings_ + kInlineBindings);
  }
  if (more_) {
    more_->push_back(binding);
  } else {
    bindings_[binding_count_] = binding;
  }
  return binding_count_++;
}

std::shared_ptr<tensor::ToldShape> Plan::TellsShapeOf(int i) {
  if (told_ == nullptr) told_ = std::make_unique<ToldShapes>();
  return told_->emplace_back(i, std::make_shared<tensor::ToldShape>()).second;
}

int64_t Plan::AddWorkspace(int64_t bytes) {
  const int64_t at = WorkspacePart(static_cast<int64_t>(workspace_bytes_));
  workspace_bytes_ = static_cast<uint64_t>(at + bytes);
  return at;
}

bool Plan::TryRef() noexcept {
  uint32_t refs = refs_.load(std::memory_order_relaxed);
  while (refs != 0) {
    if (refs_.compare_exchange_weak(refs, refs + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void Plan::Unref() noexcept {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  DropBody();
  LeaveMarks(&function_, sizeof function_);
  LeaveMarks(bindings_, sizeof bindings_);
  LeaveMarks(body_, body_bytes_);
  LeaveMarks(&leased_, sizeof leased_);
  g_plans.Recycle(this);
}

void Plan::SetRepeatable() {
  int32_t none = kNoLease;
  leased_.compare_exchange_strong(none, 0, std::memory_order_relaxed);
  repeatable_.store(true, std::memory_order_release);
}

bool Plan::TryLease() noexcept {
  int32_t left = leased_.load(std::memory_order_relaxed);
  while (left > 0) {
    if (leased_.compare_exchange_weak(left, left - 1, std::memory_order_acquire)) return true;
  }
  if (left != 0) return false;
  constexpr uint32_t kLease = 256;
  uint32_t refs = refs_.load(std::memory_order_relaxed);
  do {
    if (refs == 0) return false;
  } while (!refs_.compare_exchange_weak(refs, refs + kLease, std::memory_order_acquire));
  // Another thread may have been first, or the lease may have ended: then this keeps the one it needs.
  if (!leased_.compare_exchange_strong(left, kLease - 1, std::memory_order_release)) {
    refs_.fetch_sub(kLease - 1, std::memory_order_relaxed);
  }
  return true;
}

void Plan::EndLease() noexcept {
  if (leased_.load(std::memory_order_relaxed) == kNoLease) return;  // nor will it get one
  int32_t left = leased_.exchange(kLeaseEnded, std::memory_order_acq_rel);
  if (left > 0) refs_.fetch_sub(static_cast<uint32_t>(left), std::memory_order_relaxed);
}

PlanRef NewPlan(const char* name) {
  HandleBits handle = g_plans.Create(name);
  if (handle == 0) {
    Fail(tensor::kNoExecutor, "executor-limit", "too many executors are alive; run or destroy some of them");
  }
  PlanRef plan(g_plans.Find(handle));
  return WithoutHandle(std::move(plan));
}

PlanRef WithoutHandle(PlanRef plan) {
  g_plans.Retire(g_plans.HandleOf(&*plan));
  return plan;
}

}  // namespace belay::ops
