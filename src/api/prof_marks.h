// What a program's marks leave on its streams.
#pragma once

#include <memory>
#include <string>

#include "runtime/task.h"

namespace belay::api {

// The stream gets to a mark. A captured one marks each replay.
struct MarkTask {
  static constexpr const char* kName = "mark";
  static constexpr bool kTouchesNothing = true;
  static constexpr rt::TaskKind kKind = rt::TaskKind::kMark;
  std::unique_ptr<const std::string> message;
  void Run() const {}
  void Describe(std::string& out) const { out = *message; }
};

}  // namespace belay::api
