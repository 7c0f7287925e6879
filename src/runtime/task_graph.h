// A TaskGraph: the finished DAG of a capture, immutable, launched as one task again and again.
//
// Records and waits are edges and vanish from what is run. The rest has a topological order (`order`)
// for one runner, and a split into lanes for several: a lane is a sequence that one runner executes,
// and an item may wait until another lane has made some progress.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/block_use.h"
#include "runtime/capture.h"

namespace belay::rt {

class ExternalRecord;

// "Lane `lane` has finished `progress` items."
struct LaneGoal {
  uint32_t lane;
  uint32_t progress;
};

struct LaneItem {
  const Task* task;
  uint32_t first_goal;
  uint32_t goals;
};

class TaskGraph {
 public:
  // `width`: runners that may work on one launch. The tasks and groups are the graph's, also when it cannot
  // be made.
  static std::unique_ptr<TaskGraph> Make(std::vector<CaptureNode> nodes, int width,
                                         std::vector<TaskGroup*> groups = {});
  TaskGraph(std::vector<CaptureNode> nodes, int width, std::vector<TaskGroup*> groups = {});
  ~TaskGraph();
  TaskGraph(const TaskGraph&) = delete;
  TaskGraph& operator=(const TaskGraph&) = delete;

  const std::vector<CaptureNode>& nodes() const { return nodes_; }
  // Node indices of the tasks that run, dependencies first.
  const std::vector<uint32_t>& order() const { return order_; }
  // For each node: the tasks that it directly needs, with records and waits skipped.
  const std::vector<std::vector<uint32_t>>& needs() const { return needs_; }

  // The tasks of `order`, bytes beside bytes, for the runner's loop.
  const std::vector<Task>& program() const { return program_; }
  const std::vector<std::vector<LaneItem>>& lanes() const { return lanes_; }
  const LaneGoal* goals() const { return goals_.data(); }

  // How a launch runs: the tasks of `order` one after another; in lanes, where several runners are worth it
  // or tasks may block; or in any order that the edges allow (explore_engine.h).
  enum class Way : uint8_t { kProgram, kLanes, kAnyOrder };
  Way way() const { return way_; }
  uint64_t cost() const { return cost_; }

  // Blocks of memory that the tasks touch, as they were at the capture.
  using Block = UsedBlock;
  const std::vector<Block>& blocks() const { return blocks_; }

  // Records that can be seen outside of the model.
  const std::vector<ExternalRecord*>& external_records() const { return external_records_; }
  // The tasks of `order`, by the first of those records that they come before; at last those before none.
  // Empty where there are no such records.
  const std::vector<std::vector<uint32_t>>& external_parts() const { return external_parts_; }

 private:
  TaskGraph() = default;
  void Fill(int width);
  void SkipEdgesOnly();
  void AssignLanes(int width);
  void AssignLanesByStream();
  void FillLanes(const std::vector<uint32_t>& lane_of, uint32_t lanes);
  void CollectBlocks();
  void CollectExternal();

  std::vector<CaptureNode> nodes_;
  std::vector<TaskGroup*> groups_;  // what aclmdlRICaptureTaskGrpBegin marked; released with the graph
  std::vector<uint32_t> order_;
  std::vector<std::vector<uint32_t>> needs_;
  std::vector<Task> program_;
  std::vector<std::vector<LaneItem>> lanes_;
  std::vector<LaneGoal> goals_;
  std::vector<Block> blocks_;
  std::vector<ExternalRecord*> external_records_;
  std::vector<std::vector<uint32_t>> external_parts_;
  Way way_ = Way::kProgram;
  uint64_t cost_ = 0;
};

}  // namespace belay::rt
