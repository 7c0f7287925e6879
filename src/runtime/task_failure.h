// What is known of a failed task. Making and keeping one takes no memory: what failed is often that there
// is none. Words are made of it where somebody asks.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "runtime/task.h"

namespace belay::rt {

// Which task it was.
struct TaskOrigin {
  const char* kind = nullptr;  // TaskType::name; null: not known
  uint32_t call = 0;           // Task::call
  char name[84] = "";          // what the task says of itself, cut where it is longer; often nothing

  // "aclnnAdd", "memset, submitted by aclrtMemsetAsync".
  std::string Words() const;
};

struct TaskFailure {
  static constexpr uint32_t kNoNode = ~0u;

  int code = 0;
  const char* id = "";
  std::exception_ptr error;
  TaskOrigin task;
  uint32_t stream = 0;
  uint64_t number = 0;  // of the task on its stream, from 1
  // Of a task that belongs to a model: its place there, and the task of the stream that launched the model.
  uint32_t node = kNoNode;
  uint32_t model = 0;  // ~0: one that no capture made
  TaskOrigin launch;

  std::string Sentence() const;  // what the error says
  std::string Explain() const;   // the same, and which task it was
};

// What a task throws that runs others: it is they who failed.
struct FailedPart {
  TaskFailure failure;
};

// In the handler of what `task` threw.
TaskFailure FailureOfCurrentException(const Task& task) noexcept;
TaskFailure FailureOf(const std::exception_ptr& error) noexcept;

// ", submitted by aclrtMemsetAsync", or nothing where no function of the interface did.
std::string SubmittedBy(uint32_t call);

}  // namespace belay::rt
