// What a program's marks leave on its streams.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/handle_table.h"
#include "runtime/observer.h"
#include "runtime/stream.h"
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

struct Span {
  std::string message;
  int64_t begun_ns;
  std::string domain = {};
  HandleBits stream = 0;  // that it began on, too; 0: none
};

// A range of time that any thread may end. All have numbers of one row, from 1 on.
uint32_t BeginRange(Span span);
bool EndRange(uint32_t range);  // false: there is none of this number

void TellMark(rt::MarkKind kind, uint32_t range, const Span& span);
void MarkStream(rt::Stream& stream, std::string message);

}  // namespace belay::api
