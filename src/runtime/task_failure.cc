#include "runtime/task_failure.h"

#include <algorithm>
#include <new>

#include "base/codes.h"
#include "base/error.h"
#include "runtime/capture.h"

namespace belay::rt {
namespace {

constexpr uint32_t kNoNumber = ~0u;
constexpr char kNoMemory[] =
    "host memory ran out; free some, or raise the limit that the process has (ulimit -v, the container's)";

TaskOrigin OriginOf(const Task& task) noexcept {
  TaskOrigin origin{task.type->name, task.call};
  try {
    std::string name;
    if (task.type->describe != nullptr) task.type->describe(task.payload, name);
    size_t length = std::min(name.size(), sizeof origin.name - 1);
    std::copy_n(name.data(), length, origin.name);
    if (length < name.size()) std::fill_n(origin.name + length - 3, 3, '.');
  } catch (...) {
    // Its kind must do.
  }
  return origin;
}

}  // namespace

TaskFailure FailureOf(const std::exception_ptr& error) noexcept {
  TaskFailure failure;
  failure.error = error;
  try {
    std::rethrow_exception(error);
  } catch (const FailedPart& part) {
    return part.failure;
  } catch (const Error& e) {
    failure.code = e.code();
    failure.id = e.id();
  } catch (const std::bad_alloc&) {
    failure.code = codes::kRtMemoryAllocation;
    failure.id = "task-out-of-memory";
  } catch (...) {
    failure.code = codes::kInternalError;
    failure.id = "task-exception";
  }
  return failure;
}

TaskFailure FailureOfCurrentException(const Task& task) noexcept {
  TaskFailure failure = FailureOf(std::current_exception());
  if (failure.task.kind == nullptr) failure.task = OriginOf(task);
  if (failure.node != TaskFailure::kNoNode) failure.launch = OriginOf(task);
  return failure;
}

std::string TaskFailure::Sentence() const {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.sentence();
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "it threw something that is no std::exception";
  }
}

std::string TaskOrigin::Words() const {
  std::string_view words = name[0] != '\0' ? name : kind != nullptr ? kind : "task";
  if (call != 0 && words == CallName(call)) return std::string(words);
  return std::string(words) + SubmittedBy(call);
}

std::string TaskFailure::Explain() const {
  if (node == kNoNode) {
    return fmt::format("task {} of stream {} ({}) failed: {}", number, stream, task.Words(), Sentence());
  }
  std::string of = model == kNoNumber ? "" : fmt::format(" of model {}", model);
  return fmt::format("task {} of stream {} ({}) failed at node {}{} ({}): {}", number, stream, launch.Words(),
                     node, of, task.Words(), Sentence());
}

std::string SubmittedBy(uint32_t call) {
  return call == 0 ? "" : fmt::format(", submitted by {}", CallName(call));
}

}  // namespace belay::rt
