#include "runtime/task_graph.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "runtime/explore_engine.h"
#include "runtime/external_record.h"
#include "runtime/task_group.h"

namespace belay::rt {
namespace {

constexpr uint64_t kHandOver = 150;         // ns that a dependency between two cores costs
constexpr uint64_t kMove = 400;             // ns that a captured stream loses which goes on on another core
constexpr uint64_t kWorthSplitting = 8000;  // ns of work below which one runner is faster

bool MayBlock(const Task& task) { return task.type->run == nullptr; }

}  // namespace

std::unique_ptr<TaskGraph> TaskGraph::Make(std::vector<CaptureNode> nodes, int width,
                                           std::vector<TaskGroup*> groups) {
  TaskGraph holder;
  holder.nodes_ = std::move(nodes);
  holder.groups_ = std::move(groups);
  std::unique_ptr<TaskGraph> graph(new TaskGraph);
  graph->nodes_.swap(holder.nodes_);
  graph->groups_.swap(holder.groups_);
  graph->Fill(width);
  return graph;
}

// By way of a complete object, whose destructor runs when the rest cannot be made.
TaskGraph::TaskGraph(std::vector<CaptureNode> nodes, int width, std::vector<TaskGroup*> groups)
    : TaskGraph() {
  nodes_ = std::move(nodes);
  groups_ = std::move(groups);
  Fill(width);
}

void TaskGraph::CollectExternal() {
  std::vector<bool> taken(nodes_.size());
  for (uint32_t n : order_) {
    if (nodes_[n].task.type->kind != TaskKind::kEventRecord) continue;
    external_records_.push_back(nodes_[n].task.body<ExternalRecordTask>().record.get());
    std::vector<uint32_t>& part = external_parts_.emplace_back();
    std::vector<uint32_t> behind{n};
    while (!behind.empty()) {
      const uint32_t next = behind.back();
      behind.pop_back();
      if (taken[next]) continue;
      taken[next] = true;
      part.push_back(next);
      behind.insert(behind.end(), needs_[next].begin(), needs_[next].end());
    }
  }
  if (external_parts_.empty()) return;
  std::vector<uint32_t>& rest = external_parts_.emplace_back();
  std::copy_if(order_.begin(), order_.end(), std::back_inserter(rest), [&](uint32_t n) { return !taken[n]; });
}

void TaskGraph::Fill(int width) {
  for (CaptureNode& node : nodes_) {
    if (node.group != nullptr) node.task = node.group->Adopt(std::move(node.task));
  }
  for (TaskGroup* group : groups_) group->Seal();
  SkipEdgesOnly();
  CollectExternal();
  bool may_block = false;
  program_.reserve(order_.size());
  for (uint32_t n : order_) {
    program_.push_back(nodes_[n].task);
    cost_ += nodes_[n].task.cost;
    may_block |= MayBlock(nodes_[n].task);
  }
  if (may_block) {
    // A branch that blocks must hold up nobody else: one lane a captured stream.
    AssignLanesByStream();
    way_ = Way::kLanes;
  } else if (TheExploreEngine() != nullptr) {
    way_ = Way::kAnyOrder;
  } else if (width > 1 && cost_ >= kWorthSplitting) {
    AssignLanes(width);
  }
  CollectBlocks();
}

TaskGraph::~TaskGraph() {
  for (CaptureNode& node : nodes_) {
    if (node.kind == CaptureNode::Kind::kTask) node.task.Destroy();
  }
  for (TaskGroup* group : groups_) group->Release();
}

void TaskGraph::SkipEdgesOnly() {
  needs_.resize(nodes_.size());
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    std::vector<uint32_t>& needs = needs_[n];
    for (uint32_t before : nodes_[n].after) {
      if (nodes_[before].kind == CaptureNode::Kind::kTask) {
        needs.push_back(before);
      } else {
        needs.insert(needs.end(), needs_[before].begin(), needs_[before].end());
      }
    }
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    if (nodes_[n].kind == CaptureNode::Kind::kTask) order_.push_back(n);
  }
}

// List scheduling: each task goes to the lane where it would end first, a hand-over counted. What a captured
// stream works on is most likely in the cache of the core that had its last task.
void TaskGraph::AssignLanes(int width) {
  std::map<uint32_t, uint32_t> lane_of_stream;
  std::vector<uint64_t> lane_free(static_cast<size_t>(width), 0);
  std::vector<uint64_t> end(nodes_.size(), 0);
  std::vector<uint32_t> lane_of(nodes_.size(), 0);
  for (uint32_t n : order_) {
    auto last = lane_of_stream.find(nodes_[n].stream_id);
    uint64_t best_end = 0, least = UINT64_MAX;
    uint32_t best = 0;
    for (uint32_t lane = 0; lane < lane_free.size(); ++lane) {
      uint64_t start = lane_free[lane];
      for (uint32_t d : needs_[n]) {
        start = std::max(start, end[d] + (lane_of[d] == lane ? 0 : kHandOver));
      }
      uint64_t ends = start + nodes_[n].task.cost;
      uint64_t loss = last == lane_of_stream.end() || last->second == lane ? 0 : kMove;
      if (ends + loss < least) {
        least = ends + loss;
        best_end = ends;
        best = lane;
      }
    }
    lane_of[n] = lane_of_stream[nodes_[n].stream_id] = best;
    end[n] = lane_free[best] = best_end;
  }
  uint64_t makespan = *std::max_element(lane_free.begin(), lane_free.end());
  if (makespan * 100 >= cost_ * 85) return;
  FillLanes(lane_of, static_cast<uint32_t>(width));
  way_ = Way::kLanes;
}

void TaskGraph::AssignLanesByStream() {
  std::map<uint32_t, uint32_t> lane_of_stream;
  std::vector<uint32_t> lane_of(nodes_.size(), 0);
  for (uint32_t n : order_) {
    auto [it, fresh] =
        lane_of_stream.try_emplace(nodes_[n].stream_id, static_cast<uint32_t>(lane_of_stream.size()));
    lane_of[n] = it->second;
  }
  FillLanes(lane_of, static_cast<uint32_t>(lane_of_stream.size()));
}

void TaskGraph::FillLanes(const std::vector<uint32_t>& lane_of, uint32_t lanes) {
  lanes_.resize(lanes);
  std::vector<uint32_t> place(nodes_.size(), 0);  // 1-based position in its lane
  // What each lane is already known to have waited for: a goal that this covers is left out.
  std::vector<std::vector<uint32_t>> known(lanes, std::vector<uint32_t>(lanes, 0));
  for (uint32_t n : order_) {
    uint32_t lane = lane_of[n];
    auto first = static_cast<uint32_t>(goals_.size());
    for (uint32_t d : needs_[n]) {
      uint32_t other = lane_of[d];
      if (other == lane || place[d] <= known[lane][other]) continue;
      known[lane][other] = place[d];
      auto same = std::find_if(goals_.begin() + first, goals_.end(),
                               [&](const LaneGoal& g) { return g.lane == other; });
      if (same != goals_.end()) {
        same->progress = place[d];
      } else {
        goals_.push_back({other, place[d]});
      }
    }
    auto count = static_cast<uint32_t>(goals_.size()) - first;
    lanes_[lane].push_back({&nodes_[n].task, first, count});
    place[n] = static_cast<uint32_t>(lanes_[lane].size());
  }
}

void TaskGraph::CollectBlocks() {
  BlockCollector collector(&blocks_);
  for (uint32_t n : order_) {
    const Task& task = nodes_[n].task;
    if (nodes_[n].group != nullptr) continue;  // a group looks after its own, which change
    collector.node = n;
    if (task.type->ranges != nullptr) task.type->ranges(task.payload, collector);
  }
}

}  // namespace belay::rt
