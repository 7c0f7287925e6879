// The one place where tasks run: what calls a body, what catches whatever it throws and knows which task
// that was, whoever's turn it is: a stream's, a model's, a group's. One that watches tasks would stand here.
#pragma once

#include <atomic>
#include <optional>

#include "runtime/task.h"
#include "runtime/task_failure.h"

namespace belay::rt {

// Calls `body` for the task that `at` points to when it throws.
template <class Body>
[[gnu::always_inline]] inline std::optional<TaskFailure> Attempt(const Task* const& at, Body body) noexcept {
  try {
    body();
    return std::nullopt;
  } catch (...) {
    return FailureOfCurrentException(*at);
  }
}

// Runs the tasks from `at` on, none of which ever waits. At a failure `at` is left at the task that failed.
[[gnu::always_inline]] inline std::optional<TaskFailure> RunTasks(const Task*& at, const Task* end) noexcept {
  return Attempt(at, [&] {
    for (; at != end; ++at) at->type->run(at->payload);
  });
}

// Throws what the user wants a task to fail with (api/faults.h); asked for tasks that are watched, when they
// begin.
using TaskFault = void (*)(const Task& task);
inline constinit std::atomic<TaskFault> g_task_fault{nullptr};
inline void SetTaskFault(TaskFault fault) { g_task_fault.store(fault, std::memory_order_release); }

inline std::optional<TaskFailure> InjectedFailure(const Task& task) noexcept {
  const TaskFault fault = g_task_fault.load(std::memory_order_acquire);
  if (fault == nullptr) [[likely]]
    return std::nullopt;
  return Attempt(&task, [&] { fault(task); });
}

inline std::optional<TaskFailure> RunTask(const Task& task) noexcept {
  const Task* at = &task;
  return RunTasks(at, at + 1);
}

// Runs a task that waits for nothing any more.
inline std::optional<TaskFailure> RunReadyTask(const Task& task) noexcept {
  return Attempt(&task, [&] {
    if (task.type->run != nullptr) task.type->run(task.payload);
  });
}

// Runs a task, or goes on with one, that may have to wait: `parked` then.
inline std::optional<TaskFailure> ProceedTask(const Task& task, Stream& stream, bool* parked) noexcept {
  return Attempt(&task, [&] {
    if (task.type->run != nullptr) [[likely]] {
      task.type->run(task.payload);
    } else {
      *parked = !task.type->proceed(task.payload, stream);
    }
  });
}

}  // namespace belay::rt
