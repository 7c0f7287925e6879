#include "api/plan_task.h"

#include <cstring>
#include <memory>
#include <utility>

#include "runtime/memory.h"

namespace belay::api {
namespace {

// A copy of the bytes that a kernel reads through a binding; what it gets is where the binding's address
// would be. They lie in a cache line as they did.
class Copy {
 public:
  Copy(const char* address, const ops::Binding& binding) {
    const auto bytes = static_cast<size_t>(binding.end - binding.first);
    const char* from = address + binding.first;
    const size_t within = reinterpret_cast<uintptr_t>(from) % kCacheLine;
    memory_ = std::make_unique_for_overwrite<char[]>(bytes + 2 * kCacheLine);
    char* line = memory_.get() + (kCacheLine - reinterpret_cast<uintptr_t>(memory_.get()) % kCacheLine);
    std::memcpy(line + within, from, bytes);
    address_ = line + within - binding.first;
  }
  char* address() const { return address_; }

 private:
  std::unique_ptr<char[]> memory_;
  char* address_;
};

}  // namespace

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

void PlanTask::RunWithCopies(std::span<const int> copied) const {
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
  std::vector<Copy> copies;
  for (int i : copied) at[i] = copies.emplace_back(at[i], plan_->binding(i)).address();
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

}  // namespace belay::api
