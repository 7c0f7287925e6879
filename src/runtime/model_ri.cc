#include "runtime/model_ri.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/memory.h"

namespace belay::rt {
namespace {

constinit ModelTable g_models;

struct LaunchTask {
  static constexpr const char* kName = "model launch";
  static constexpr TaskClass kClass = TaskClass::kLaunch;
  ModelRI* model;

  explicit LaunchTask(ModelRI& m) : model(&m) { m.Ref(); }
  LaunchTask(LaunchTask&& o) noexcept : model(std::exchange(o.model, nullptr)) {}
  ~LaunchTask() {
    if (model != nullptr) model->Unref();
  }
  bool Proceed(Stream& stream) const { return model->Proceed(stream); }
};

// An earlier replay of the instance was queued on another stream: this one comes after it.
struct AfterLaunchTask {
  static constexpr const char* kName = "wait for the previous launch";
  static constexpr TaskClass kClass = TaskClass::kWait;
  Stream* source;
  uint64_t position;
  bool Proceed(Stream& stream) const { return stream.ParkUntil(*source, position) == 0; }
};

}  // namespace

ModelTable& Models() { return g_models; }

void ModelRI::Finish(std::unique_ptr<TaskGraph> graph) {
  replay_ = std::make_unique<Replay>(*graph);
  graph_ = std::move(graph);
}

void ModelRI::CheckBlocks() {
  uint64_t frees = FreeCount();
  if (frees == checked_frees_) return;
  for (const TaskGraph::Block& block : graph_->blocks()) {
    if (BlockSerial(block.address) == block.serial) continue;
    const CaptureNode& node = graph_->nodes()[block.node];
    Fail(107000, "model-memory-freed",
         "the block at {} that model {} uses (task {}, a {} submitted by {}) was freed after the capture; "
         "keep it until aclmdlRIDestroy, or capture again",
         block.address, id_, block.node, node.name(), CallName(node.call));
  }
  checked_frees_ = frees;
}

void ModelRI::Execute(Stream& stream) {
  if (building()) {
    Fail(107000, "model-building", "model {} is still being captured; call aclmdlRICaptureEnd first", id_);
  }
  if (Capture* capture = stream.capture(); capture != nullptr) {
    capture->Spoil(stream, "the execution of a model");
    Fail(107030, "capture-execute",
         "stream {} is being captured: a model cannot be executed inside a capture; use another stream, or "
         "end the capture first",
         stream.id());
  }
  std::lock_guard guard(lock_);
  CheckBlocks();
  if (last_.stream != nullptr && last_.stream != &stream && !last_.stream->Reached(last_.position)) {
    stream.Submit(MakeTask(AfterLaunchTask{last_.stream, last_.position}, 20));
  }
  auto cost = static_cast<TaskCost>(std::min<uint64_t>(graph_->cost(), 1u << 30));
  last_ = {&stream, stream.Submit(MakeTask(LaunchTask(*this), cost))};
}

Event::Binding ModelRI::last_launch() {
  std::lock_guard guard(lock_);
  return last_;
}

void ModelRI::SetName(std::string name) {
  std::lock_guard guard(lock_);
  name_ = std::move(name);
}
std::string ModelRI::name() {
  std::lock_guard guard(lock_);
  return name_;
}

void ModelRI::AddDestroyCallback(DestroyCallback callback, void* data) {
  std::lock_guard guard(lock_);
  callbacks_.emplace_back(callback, data);
}

bool ModelRI::RemoveDestroyCallback(DestroyCallback callback) {
  std::lock_guard guard(lock_);
  return std::erase_if(callbacks_, [&](const auto& c) { return c.first == callback; }) > 0;
}

void ModelRI::Destroy(ModelRI& model) {
  if (g_models.Retire(g_models.HandleOf(&model)) != nullptr) model.Unref();
}

void ModelRI::Unref() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  auto callbacks = std::move(callbacks_);
  g_models.Recycle(this);
  for (auto [callback, data] : callbacks) callback(data);
}

}  // namespace belay::rt
