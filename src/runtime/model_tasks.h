// What a program may ask a finished model about: its streams, and the tasks on each of them
// (aclmdlRIGetStreams, aclmdlRIGetTasksByStream). These streams are places in the model, not streams that
// work can be given to: a stream of the program may have been captured in several models.
#pragma once

#include <cstdint>
#include <vector>

#include "base/handle_table.h"
#include "runtime/capture.h"

namespace belay::rt {

class TaskGraph;

struct ModelTask {
  CaptureNode::Kind node;
  TaskKind kind;
  uint32_t sequence;  // its place in the order of the capture
};

struct ModelStream {
  std::vector<HandleBits> tasks;
};

using ModelTaskTable = HandleTable<ModelTask, HandleKind::kModelTask, 1u << 22>;
using ModelStreamTable = HandleTable<ModelStream, HandleKind::kModelStream, 1u << 20>;
ModelTaskTable& ModelTasks();
ModelStreamTable& ModelStreams();

// The handles of one model, which die with it.
class ModelInventory {
 public:
  explicit ModelInventory(const TaskGraph& graph);
  ~ModelInventory();
  ModelInventory(const ModelInventory&) = delete;
  ModelInventory& operator=(const ModelInventory&) = delete;

  // The main stream first, the others in the order in which they joined.
  const std::vector<HandleBits>& streams() const { return streams_; }

 private:
  ModelInventory() = default;
  std::vector<HandleBits> streams_;
};

}  // namespace belay::rt
