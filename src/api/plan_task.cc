#include "api/plan_task.h"

#include <cstring>
#include <memory>
#include <utility>

#include "ops/overlap.h"
#include "runtime/memory.h"

namespace belay::api {

PlanTask::PlanTask(ops::PlanRef plan, void* workspace)
    : plan_(std::move(plan)), workspace_(workspace), inline_{} {
  int n = plan_->binding_count();
  void** to = inline_;
  if (n > kInline) to = more_ = new void*[static_cast<size_t>(n)];
  for (int i = 0; i < n; ++i) to[i] = plan_->binding(i).address;
}

PlanTask::PlanTask(PlanTask&& other) noexcept : plan_(std::move(other.plan_)), workspace_(other.workspace_) {
  std::memcpy(inline_, other.inline_, sizeof inline_);
}

PlanTask::~PlanTask() {
  if (plan_ && spilled()) delete[] more_;
}

int64_t PlanTask::OwnBytes(std::span<const int> copied) const {
  int64_t bytes = 0;
  for (int i : copied) bytes += RoomAt(i) < 0 ? ops::CopyBytes(plan_->binding(i)) : 0;
  return bytes;
}

int64_t PlanTask::RoomAt(int binding) const {
  const ops::View* view = plan_->view(binding);
  return view == nullptr ? -1 : view->copy;
}

void PlanTask::RunWithCopies(std::span<const int> copied, char* own) const {
  constexpr int kOnStack = 16;
  char* few[kOnStack];
  std::unique_ptr<char*[]> many;
  int n = plan_->binding_count();
  char** at = few;
  if (n > kOnStack) {
    many = std::make_unique<char*[]>(static_cast<size_t>(n));
    at = many.get();
  }
  for (int i = 0; i < n; ++i) {
    auto bytes = static_cast<size_t>(plan_->binding(i).end);
    at[i] = bytes == 0 ? nullptr : static_cast<char*>(rt::View(addresses()[i], bytes));
  }
  uint64_t scratch = plan_->workspace_bytes();
  char* workspace = scratch == 0 ? nullptr : static_cast<char*>(rt::View(workspace_, scratch));
  for (int i : copied) {
    const int64_t room = RoomAt(i);
    at[i] = ops::MakeCopy(at[i], plan_->binding(i), room < 0 ? own : workspace + room);
    if (room < 0) own += ops::CopyBytes(plan_->binding(i));
  }
  plan_->Run({at, workspace});
}

void PlanTask::Ranges(rt::RangeVisitor& visit) const {
  for (int i = 0; i < plan_->binding_count(); ++i) {
    const ops::Binding& binding = plan_->binding(i);
    auto bytes = static_cast<size_t>(binding.end - binding.first);
    if (bytes == 0) continue;
    char* begin = static_cast<char*>(addresses()[i]) + binding.first;
    if (ops::Reads(binding.access)) visit.Reads(begin, bytes);
    if (ops::Writes(binding.access)) visit.Writes(begin, bytes);
  }
  if (plan_->workspace_bytes() != 0) visit.Writes(workspace_, plan_->workspace_bytes());
}

OverlappingPlanTask::OverlappingPlanTask(PlanTask task, std::vector<int> copied) {
  const auto bytes = static_cast<size_t>(task.OwnBytes(copied));
  auto own = bytes == 0 ? nullptr : std::make_unique_for_overwrite<char[]>(bytes);
  whole_ = std::make_unique<Whole>(Whole{std::move(task), std::move(copied), std::move(own)});
}

}  // namespace belay::api
