#include "api/graph_print.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/codes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/lane_drawing.h"
#include "base/quiet_write.h"
#include "base/thread.h"
#include "base/whole_file.h"
#include "runtime/capture.h"

namespace belay::api {
namespace {

constexpr size_t kColumn = 26;

// Streams in the order in which they joined; the main one is first.
std::vector<uint32_t> StreamsOf(const rt::TaskGraph& graph) {
  std::vector<uint32_t> streams;
  for (const rt::CaptureNode& node : graph.nodes()) {
    if (std::find(streams.begin(), streams.end(), node.stream_id) == streams.end())
      streams.push_back(node.stream_id);
  }
  return streams;
}

std::string Label(const rt::CaptureNode& node) {
  if (node.kind == rt::CaptureNode::Kind::kTask) return node.name();
  return fmt::format("{} {}", node.name(), node.event_id);
}

// One lane a stream, for graphs of a few tasks; empty for others.
std::string Drawing(const rt::TaskGraph& graph, const std::vector<uint32_t>& streams) {
  constexpr size_t kLongestLabel = 28;
  std::vector<std::string> lanes;
  for (uint32_t stream : streams) lanes.push_back(fmt::format("stream {} ", stream));
  std::vector<LaneStep> steps;
  std::map<uint32_t, int> step_of;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const rt::CaptureNode& node = graph.nodes()[n];
    if (node.kind != rt::CaptureNode::Kind::kTask) continue;
    step_of[n] = static_cast<int>(steps.size());
    auto lane = std::find(streams.begin(), streams.end(), node.stream_id) - streams.begin();
    LaneStep step{node.name(), static_cast<int>(lane), {}};
    std::string described;
    if (node.task.type->describe != nullptr) node.task.type->describe(node.task.payload, described);
    if (!described.empty() && described.size() <= kLongestLabel) step.label = described;
    for (uint32_t need : graph.needs()[n]) {
      if (graph.nodes()[need].stream_id != node.stream_id) step.after.push_back(step_of[need]);
    }
    steps.push_back(std::move(step));
  }
  return DrawLanes(lanes, steps);
}

// One column a stream, one row a node.
std::string TaskTable(const rt::TaskGraph& graph, const std::vector<uint32_t>& streams) {
  std::string text(7, ' ');
  for (uint32_t stream : streams) text += fmt::format("{:<{}}", fmt::format("stream {}", stream), kColumn);
  text += '\n';
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const rt::CaptureNode& node = graph.nodes()[n];
    text += fmt::format("{:>5}  ", n);
    for (uint32_t stream : streams) {
      if (stream != node.stream_id) {
        text += fmt::format("{:<{}}", "|", kColumn);
        continue;
      }
      std::string after;
      for (uint32_t before : node.after) {
        if (graph.nodes()[before].stream_id != node.stream_id) after += fmt::format(" <- {}", before);
      }
      text += fmt::format("{:<{}}", "o " + Label(node) + after, kColumn);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

class RangePrinter final : public rt::RangeVisitor {
 public:
  Json::List list;
  void Reads(const void* begin, size_t bytes) override { Add("read", begin, bytes); }
  void Writes(void* begin, size_t bytes) override { Add("write", begin, bytes); }

 private:
  void Add(const char* what, const void* begin, size_t bytes) {
    list.emplace_back(
        Json::Members{{"access", what}, {"address", fmt::format("{}", begin)}, {"bytes", bytes}});
  }
};

}  // namespace

void PrintGraph(const rt::TaskGraph& graph, uint32_t model) {
  std::vector<uint32_t> streams = StreamsOf(graph);
  std::string text = fmt::format("model {}: {} tasks on {} stream{}\n", model, graph.order().size(),
                                 streams.size(), streams.size() == 1 ? "" : "s");
  std::string drawing = Drawing(graph, streams);
  text += drawing.empty() ? TaskTable(graph, streams) : drawing;
  NoCancellation no_cancellation;
  QuietWrites quiet;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void WriteGraphJson(const rt::TaskGraph& graph, uint32_t model, const char* path, bool verbose) {
  Json::List events;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const rt::CaptureNode& node = graph.nodes()[n];
    Json::Members args{{"model_id", model},
                       {"stream_id", node.stream_id},
                       {"task_id", n},
                       {"task_type", node.name()},
                       {"submitted_by", rt::CallName(node.call)},
                       {"after", node.after}};
    if (node.kind != rt::CaptureNode::Kind::kTask) args["event_id"] = node.event_id;
    if (verbose && node.kind == rt::CaptureNode::Kind::kTask && node.task.type->ranges != nullptr) {
      RangePrinter ranges;
      node.task.type->ranges(node.task.payload, ranges);
      args["memory"] = std::move(ranges.list);
    }
    Json::Members event{
        {"ph", "X"}, {"name", node.name()}, {"pid", model}, {"tid", node.stream_id}, {"ts", n}, {"dur", 1}};
    event.emplace("args", std::move(args));
    events.emplace_back(std::move(event));
  }
  Json::Members all;
  all.emplace("traceEvents", std::move(events));
  if (auto failure = WriteWholeFile(path, Json(std::move(all)).Dump(1))) {
    if (failure->opened)
      Fail(codes::kRtFileWrite, "json-file", "'{}' cannot be written: {}", path, failure->reason);
    Fail(codes::kRtFileOpen, "json-file",
         "'{}' cannot be opened for writing ({}); name a file in a folder that exists", path,
         failure->reason);
  }
}

}  // namespace belay::api
