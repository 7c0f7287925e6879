#include "runtime/model_tasks.h"

#include <map>

#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/room.h"
#include "runtime/task_graph.h"

namespace belay::rt {
namespace {

constinit ModelTaskTable g_model_tasks;
constinit ModelStreamTable g_model_streams;
[[maybe_unused]] const bool g_model_tasks_at_fork = UnlockInChild<g_model_tasks, g_model_streams>();

}  // namespace

ModelTaskTable& ModelTasks() { return g_model_tasks; }
ModelStreamTable& ModelStreams() { return g_model_streams; }

// By way of a complete object, whose destructor runs when the rest cannot be made.
ModelInventory::ModelInventory(const TaskGraph& graph) : ModelInventory() {
  std::map<uint32_t, ModelStream*> known;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const CaptureNode& node = graph.nodes()[n];
    ModelStream*& stream = known[node.stream_id];
    if (stream == nullptr) {
      MakeRoom(streams_);
      HandleBits handle = g_model_streams.Create();
      stream = g_model_streams.Find(handle);
      if (stream != nullptr) streams_.push_back(handle);
    }
    if (stream != nullptr) MakeRoom(stream->tasks);
    TaskKind kind = node.kind == CaptureNode::Kind::kTask ? node.task.type->kind : TaskKind::kOther;
    HandleBits task = stream == nullptr ? 0 : g_model_tasks.Create(ModelTask{node.kind, kind, n});
    if (task == 0) {
      Fail(codes::kRtNoModelResource, "model-task-limit",
           "the process asked about more tasks of models than Belay can number");
    }
    stream->tasks.push_back(task);
  }
}

ModelInventory::~ModelInventory() {
  for (HandleBits handle : streams_) {
    for (HandleBits task : g_model_streams.Find(handle)->tasks) g_model_tasks.Destroy(task);
    g_model_streams.Destroy(handle);
  }
}

}  // namespace belay::rt
