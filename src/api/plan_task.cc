#include "api/plan_task.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/memory.h"

namespace belay::api {
namespace {

using ops::KnownPart;

// Where there is no index, nothing is touched of what indices choose.
bool ReadsAnEmptyTensor(const ops::Plan& plan) {
  for (int i = 0; i < plan.binding_count(); ++i) {
    const ops::Binding& binding = plan.binding(i);
    if (binding.present && ops::Reads(binding.access) && binding.first == binding.end) return true;
  }
  return false;
}

// Calls `row` for each run of bytes between which there are gaps. With no view there are none; `within` where
// it would take too many calls.
template <class Row, class Within>
void ForEachRow(const ops::View* view, void* address, char* begin, size_t bytes, const Row& row,
                const Within& within) {
  constexpr int64_t kMostRows = 4096;
  if (view == nullptr || view->bits % 8 != 0) return row(begin, bytes);
  const int64_t size = view->bits / 8;
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride in bytes and size, the smallest stride first
  for (int d = 0; d < view->shape.rank(); ++d) {
    if (view->strides[d] < 0) return within();
    if (view->shape[d] != 1 && view->strides[d] != 0)
      dims.emplace_back(view->strides[d] * size, view->shape[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t run = size;
  size_t outer = 0;
  while (outer < dims.size() && dims[outer].first <= run) {
    run = std::max(run, dims[outer].first * (dims[outer].second - 1) + run);
    ++outer;
  }
  int64_t rows = 1;
  for (size_t d = outer; d < dims.size(); ++d) rows = rows > kMostRows ? rows : rows * dims[d].second;
  if (rows > kMostRows) return within();
  char* first = static_cast<char*>(address) + view->offset * size;
  std::vector<int64_t> at(dims.size(), 0);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t offset = 0;
    for (size_t d = outer; d < dims.size(); ++d) offset += at[d] * dims[d].first;
    row(first + offset, static_cast<size_t>(run));
    for (size_t d = outer; d < dims.size() && ++at[d] == dims[d].second; ++d) at[d] = 0;
  }
}

}  // namespace

PlanTask::PlanTask(ops::PlanRef plan, void* workspace)
    : plan_(std::move(plan)), workspace_(workspace), inline_{} {
  int n = plan_->binding_count();
  void** to = inline_;
  if (n > kInline) to = more_ = new void*[static_cast<size_t>(n > kOnStack ? 2 * n : n)];
  for (int i = 0; i < n; ++i) to[i] = plan_->binding(i).address;
}

PlanTask::PlanTask(PlanTask&& other) noexcept : plan_(std::move(other.plan_)), workspace_(other.workspace_) {
  std::memcpy(inline_, other.inline_, sizeof inline_);
}

PlanTask::~PlanTask() {
  if (plan_ && spilled()) delete[] more_;
}

int64_t PlanTask::OwnBytes(const ops::Copied& copied) const {
  int64_t bytes = 0;
  for (int i : copied.read) bytes += RoomAt(i) < 0 ? ops::CopyBytes(plan_->binding(i)) : 0;
  for (int i : copied.written) bytes += 2 * ops::CopyBytes(plan_->binding(i));
  return bytes;
}

int64_t PlanTask::RoomAt(int binding) const {
  const ops::View* view = plan_->view(binding);
  return view == nullptr ? -1 : view->copy;
}

template <class Body>
void PlanTask::WithFrame(const Body& body) const {
  char* few[kOnStack];
  int n = plan_->binding_count();
  // A task runs once at a time, in a model, too.
  char** at = n > kOnStack ? reinterpret_cast<char**>(more_ + n) : few;
  for (int i = 0; i < n; ++i) {
    auto bytes = static_cast<size_t>(plan_->binding(i).end);
    at[i] = bytes == 0 ? nullptr : static_cast<char*>(rt::View(addresses()[i], bytes));
  }
  uint64_t scratch = plan_->workspace_bytes();
  body(at, scratch == 0 ? nullptr : static_cast<char*>(rt::View(workspace_, scratch)));
}

void PlanTask::Run() const {
  WithFrame([this](char** at, char* workspace) { plan_->Run({at, workspace}); });
}

void PlanTask::RunWithCopies(const ops::Copied& copied, char* own) const {
  WithFrame([&](char** at, char* workspace) {
    const auto copy = [&](int i, char* room) {
      if (room == nullptr) room = std::exchange(own, own + ops::CopyBytes(plan_->binding(i)));
      return ops::MakeCopy(at[i], plan_->binding(i), room);
    };
    for (int i : copied.read) at[i] = copy(i, RoomAt(i) < 0 ? nullptr : workspace + RoomAt(i));
    std::vector<std::pair<char*, const char*>> places;  // of what is written: its own, and as it was there
    for (int i : copied.written) {
      places.emplace_back(at[i], copy(i, nullptr));
      at[i] = copy(i, nullptr);
    }
    plan_->Run({at, workspace});
    for (size_t w = 0; w < places.size(); ++w) {
      const int i = copied.written[w];
      ops::PutChanges(plan_->binding(i), places[w].second, at[i], places[w].first);
    }
  });
}

void PlanTask::RunBefore() const {
  WithFrame([this](char** at, char* workspace) { plan_->exchange()->before({at, workspace}); });
}

void PlanTask::Ranges(rt::RangeVisitor& visit) const {
  void* const* const at = addresses();
  for (int i = 0; i < plan_->binding_count(); ++i) {
    const ops::Binding& binding = plan_->binding(i);
    auto bytes = static_cast<size_t>(binding.end - binding.first);
    if (bytes == 0) continue;
    visit.Argument(binding.name, binding.dtype);
    char* begin = static_cast<char*>(at[i]) + binding.first;
    auto touch = [&](KnownPart part, const auto& exactly, const auto& some, const auto& within) {
      if (part == KnownPart::kWhole)
        return ForEachRow(plan_->view(i), at[i], begin, bytes, exactly, [&] { within(begin, bytes); });
      if (part == KnownPart::kFirst) exactly(begin, std::min(bytes, tensor::BytesOf(binding.dtype)));
      part == KnownPart::kSome && !ReadsAnEmptyTensor(*plan_) ? some(begin, bytes) : within(begin, bytes);
    };
    if (ops::Reads(binding.access)) {
      touch(
          plan_->read_part(i), [&](char* row, size_t n) { visit.Reads(row, n); },
          [&](char* hull, size_t n) { visit.ReadsSome(hull, n); },
          [&](char* hull, size_t n) { visit.ReadsWithin(hull, n); });
    }
    if (ops::Writes(binding.access)) {
      touch(
          plan_->written_part(i), [&](char* row, size_t n) { visit.Writes(row, n); },
          [&](char* hull, size_t n) { visit.WritesSome(hull, n); },
          [&](char* hull, size_t n) { visit.WritesWithin(hull, n); });
    }
  }
  visit.Argument(nullptr, tensor::DType::kUndefined);
  if (plan_->workspace_bytes() != 0) visit.Writes(workspace_, plan_->workspace_bytes());
}

OverlappingPlanTask::OverlappingPlanTask(PlanTask task, ops::Copied copied) {
  const auto bytes = static_cast<size_t>(task.OwnBytes(copied));
  auto own = bytes == 0 ? nullptr : std::make_unique_for_overwrite<char[]>(bytes);
  whole_ = std::make_unique<Whole>(Whole{std::move(task), std::move(copied), std::move(own)});
}

}  // namespace belay::api
