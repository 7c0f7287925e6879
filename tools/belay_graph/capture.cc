#include "belay_graph/capture.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"

namespace belay::graph_tool {
namespace {

uint64_t NumberOf(const Json& object, std::string_view name) {
  const std::optional<uint64_t> number = object.at(name).Whole<uint64_t>();
  if (!number) throw JsonError("not a whole number");
  return *number;
}

struct CapturedTask {
  uint64_t number = 0;
  uint64_t stream = 0;
  std::vector<uint64_t> after;
  Shown shown;
};

CapturedTask TaskOf(const Json& event) {
  const Json& args = event.at("args");
  CapturedTask task;
  task.number = NumberOf(args, "task_id");
  task.stream = NumberOf(args, "stream_id");
  for (const Json& before : args.at("after").list()) {
    const std::optional<uint64_t> number = before.Whole<uint64_t>();
    if (!number) throw JsonError("not a whole number");
    task.after.push_back(*number);
  }
  task.shown.type = args.at("task_type").text();
  const std::string& call = args.at("submitted_by").text();
  task.shown.name = fmt::format("stream {}{}{}", task.stream, call.empty() ? "" : ", ", call);
  if (args.Find("event_id") != nullptr)
    task.shown.result = fmt::format("event {}", NumberOf(args, "event_id"));
  const Json* memory = args.Find("memory");  // where all was asked for
  for (size_t i = 0; memory != nullptr && i < memory->list().size(); ++i) {
    const Json& piece = memory->at(i);
    if (piece.at("access").text() == "write") task.shown.result_bytes += NumberOf(piece, "bytes");
  }
  return task;
}

}  // namespace

Picture PictureOfCapture(std::string_view text) {
  Picture picture;
  std::set<uint64_t> streams;
  std::vector<CapturedTask> tasks;
  std::unordered_map<uint64_t, size_t> places;
  try {
    const Json whole = Json::Parse(text);
    for (const Json& event : whole.at("traceEvents").list()) {
      tasks.push_back(TaskOf(event));
      places[tasks.back().number] = tasks.size() - 1;
      streams.insert(tasks.back().stream);
      picture.shown.push_back(tasks.back().shown);
      if (picture.name.empty())
        picture.name = fmt::format("model {}", NumberOf(event.at("args"), "model_id"));
    }
  } catch (const JsonError& error) {
    throw std::invalid_argument(
        fmt::format("this is no graph that aclmdlRIDebugJsonPrint has written: {}", error.what()));
  }
  picture.streams = static_cast<int>(streams.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    for (uint64_t before : tasks[i].after) {
      const auto from = places.find(before);
      if (from == places.end() || from->second >= i)
        throw std::invalid_argument(
            fmt::format("task {} comes after task {}, which is not before it", tasks[i].number, before));
      const uint64_t stream = tasks[from->second].stream;
      std::string type = fmt::format("stream {}", stream);
      if (stream != tasks[i].stream) type += fmt::format(" to stream {}", tasks[i].stream);
      picture.flows.push_back({static_cast<int>(from->second), static_cast<int>(i), std::move(type), 0});
    }
  }
  return picture;
}

}  // namespace belay::graph_tool
