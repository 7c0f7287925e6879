#include "runtime/model_ri.h"

#include <algorithm>
#include <optional>

#include "base/codes.h"
#include "base/error_about.h"
#include "runtime/callback_pool.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "runtime/external_record.h"
#include "runtime/memory.h"
#include "runtime/observer.h"

namespace belay::rt {
namespace {

constinit ModelTable g_models;

struct LaunchTask {
  static constexpr const char* kName = "model launch";
  static constexpr TaskClass kClass = TaskClass::kLaunch;
  ModelRI* model;
  uint64_t turn;

  LaunchTask(ModelRI& m, uint64_t t) : model(&m), turn(t) { m.Ref(); }
  LaunchTask(LaunchTask&& o) noexcept : model(std::exchange(o.model, nullptr)), turn(o.turn) {}
  ~LaunchTask() {
    if (model == nullptr) return;
    model->EndTurn(turn);
    model->Unref();
  }
  bool Proceed(Stream& stream) const { return model->Proceed(stream, turn); }
  void Ranges(RangeVisitor& visit) const { model->Ranges(turn, visit); }
};

// Whether all device memory that a task touches is allocated, if only since the capture.
class LiveRanges final : public RangeVisitor {
 public:
  void Reads(const void* begin, size_t bytes) override { Check(begin, bytes); }
  void Writes(void* begin, size_t bytes) override { Check(begin, bytes); }
  bool all_live() const { return all_live_; }

 private:
  void Check(const void* begin, size_t bytes) {
    const MemoryRange range = Lookup(begin, bytes);
    if (range.kind == MemoryKind::kHost) return;
    all_live_ = all_live_ && range.live && range.Remaining(begin) >= bytes;
  }
  bool all_live_ = true;
};

// Programs free memory and get the same addresses again (ggml between two runs of one graph): the addresses
// are what a graph keeps.
bool IsAllocated(const TaskGraph& graph) {
  LiveRanges ranges;
  for (const CaptureNode& node : graph.nodes()) {
    if (node.kind != CaptureNode::Kind::kTask || node.group != nullptr) continue;
    const TaskType& type = *node.task.type;
    if (type.ranges != nullptr) type.ranges(node.task.payload, ranges);
  }
  return ranges.all_live();
}

}  // namespace

ModelTable& Models() { return g_models; }

int64_t ModelOfLaunch(const Task& task) noexcept {
  if (task.type != &detail::kTypeOf<LaunchTask>) return -1;
  return task.body<LaunchTask>().model->id();
}

void ModelRI::Open(Device& device, uint32_t id) {
  device_ = &device;
  id_ = id;
  checked_frees_ = ~uint64_t{0};
  refs_.Start();
}

void ModelRI::Close() {
  finished_.store(false, std::memory_order_relaxed);
  replay_.reset();
  graph_.reset();
  turns_.clear();
  last_ = {};
  name_.clear();
  inventory_.reset();
  callbacks_.clear();
}

void ModelRI::Finish(std::unique_ptr<TaskGraph> graph) {
  replay_ = std::make_unique<Replay>(*graph, id_);
  graph_ = std::move(graph);
  finished_.store(true, std::memory_order_release);
}

void ModelRI::CheckBlocks() {
  uint64_t frees = FreeCount();
  if (frees == checked_frees_) return;
  std::optional<bool> allocated_again;
  for (const TaskGraph::Block& block : graph_->blocks()) {
    if (BlockSerial(block.address) == block.serial) continue;
    if (!allocated_again) allocated_again = IsAllocated(*graph_);
    if (*allocated_again && Lookup(block.address).live) continue;
    const CaptureNode& node = graph_->nodes()[block.node];
    FailAbout(block.address, codes::kRtParamInvalid, "model-memory-freed",
              "the block at {} that model {} uses (task {}, '{}'{}) was freed after the capture; "
              "keep it until aclmdlRIDestroy, or capture again",
              block.address, id_, block.node, node.name(), SubmittedBy(node.call));
  }
  checked_frees_ = frees;
}

void ModelRI::Execute(Stream& stream, std::unique_ptr<LaunchArguments> arguments) {
  if (building()) {
    Fail(codes::kRtParamInvalid, "model-building",
         "model {} is still being captured; call aclmdlRICaptureEnd first", id_);
  }
  if (&stream.context().device() != device_) {
    Fail(
        codes::kRtModelContext, "model-device",
        "model {} was captured on device {}, stream {} is on device {}; execute it on a stream of its own device",
        id_, device_->id(), stream.id(), stream.context().device().id());
  }
  std::lock_guard guard(submit_lock_);
  CheckBlocks();
  auto cost = static_cast<TaskCost>(std::min<uint64_t>(graph_->cost(), 1u << 30));
  for (ExternalRecord* record : graph_->external_records()) record->MakeRoom();
  uint64_t turn = AddTurn(stream, std::move(arguments));
  LaunchTask launch(*this, turn);  // from now on the turn ends with it
  for (ExternalRecord* record : graph_->external_records()) record->Issue(turn, {&stream, stream.tail() + 1});
  uint64_t position = stream.SubmitLive(MakeTask(std::move(launch), cost));
  if (position == 0) {
    SpoilCaptureOf(stream, {"the execution of a model", "execute it on a stream that is not being captured"});
    Fail(codes::kCaptureMode, "capture-execute",
         "stream {} is being captured: a model cannot be executed inside a capture; use another stream, or "
         "end the capture first",
         stream.id());
  }
  std::lock_guard turns(turns_lock_);
  last_ = {&stream, position};
  if (!turns_.empty() && turns_.back().number == turn) turns_.back().position = position;
}

// What all nodes together touch.
void ModelRI::Ranges(uint64_t turn, RangeVisitor& visit) {
  {
    std::lock_guard guard(turns_lock_);
    // Who asks is mostly about to be submitted, behind many that wait.
    for (auto t = turns_.rbegin(); t != turns_.rend() && t->number >= turn; ++t) {
      if (t->number == turn && t->arguments != nullptr) return t->arguments->Ranges(visit);
    }
  }
  const std::vector<std::vector<uint32_t>>& parts = graph_->external_parts();
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const auto [word, least] = graph_->external_records()[i]->NumberOf(turn);
    visit.PartUntil(word, least);
    RangesOf(parts[i], visit);
  }
  if (!parts.empty()) visit.PartUntil(nullptr, 0);
  visit.RunsModel(g_models.HandleOf(this));
  RangesOf(parts.empty() ? graph_->order() : parts.back(), visit);
}

void ModelRI::RangesOf(const std::vector<uint32_t>& nodes, RangeVisitor& visit) const {
  for (uint32_t n : nodes) {
    const Task& task = graph_->nodes()[n].task;
    if (task.type->ranges != nullptr) task.type->ranges(task.payload, visit);
  }
}

// --- turns

uint64_t ModelRI::AddTurn(Stream& stream, std::unique_ptr<LaunchArguments> arguments) {
  std::lock_guard guard(turns_lock_);
  turns_.push_back({++turns_taken_, &stream, 0, nullptr, std::move(arguments), false});
  return turns_taken_;
}

// True when all earlier replays are over; else the stream is parked until they are.
bool ModelRI::MyTurn(Stream& stream, uint64_t turn, bool* dropped) {
  std::unique_lock guard(turns_lock_);
  Turn& front = turns_.front();
  if (front.number == turn) {
    LaunchArguments* begins = std::exchange(front.bound, true) ? nullptr : front.arguments.get();
    guard.unlock();  // binding may copy inputs
    if (begins != nullptr) begins->Bind();
    return true;
  }
  auto mine = std::lower_bound(turns_.begin(), turns_.end(), turn,
                               [](const Turn& t, uint64_t number) { return t.number < number; });
  mine->parked = &stream;
  // Without a position (its Execute has not returned) nobody can tell how far a host should help.
  Stream* source = front.position == 0 ? nullptr : front.stream;
  if (stream.Park({ParkReason::kTurn, this, &ModelRI::CancelTurn, source, front.position}) == 0) {
    mine->parked = nullptr;
    *dropped = true;
  }
  return false;
}

bool ModelRI::Proceed(Stream& stream, uint64_t turn) {
  bool dropped = false;
  stream.TakeTimedOut();  // a launch knows no time limit
  if (!MyTurn(stream, turn, &dropped)) return dropped;
  return replay_->Proceed(stream);
}

void ModelRI::EndTurn(uint64_t turn) {
  for (ExternalRecord* record : graph_->external_records()) record->Over(turn);
  Stream* next = nullptr;
  std::unique_ptr<LaunchArguments> arguments;  // goes when the lock is free
  {
    std::lock_guard guard(turns_lock_);
    if (turns_.front().number == turn) [[likely]] {
      arguments = std::move(turns_.front().arguments);
      turns_.pop_front();
      if (!turns_.empty()) next = std::exchange(turns_.front().parked, nullptr);
    } else {
      std::erase_if(turns_, [&](Turn& t) {
        if (t.number != turn) return false;
        arguments = std::move(t.arguments);
        return true;
      });
    }
  }
  if (next != nullptr) next->Fulfil();
}

CancelResult ModelRI::CancelTurn(void* model, Stream& stream) {
  auto& self = *static_cast<ModelRI*>(model);
  std::unique_lock guard(self.turns_lock_, std::try_to_lock);
  if (!guard.owns_lock()) return CancelResult::kBusy;
  for (Turn& turn : self.turns_) {
    if (turn.parked != &stream) continue;
    turn.parked = nullptr;
    return CancelResult::kDone;
  }
  return CancelResult::kGone;
}

Event::Binding ModelRI::last_launch() {
  std::lock_guard guard(turns_lock_);
  return last_;
}

std::vector<HandleBits> ModelRI::Streams() {
  std::lock_guard guard(lock_);
  if (inventory_ == nullptr) inventory_ = std::make_unique<ModelInventory>(*graph_);
  return inventory_->streams();
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
  if (Observers::any()) TellDestroyed(g_models.HandleOf(&model));
  if (g_models.Retire(g_models.HandleOf(&model)) == nullptr) return;
  {
    std::lock_guard guard(model.lock_);
    model.inventory_.reset();  // the handles of its tasks go with its own, queued replays or not
  }
  model.Unref();
}

void ModelRI::Unref() {
  if (!refs_.Drop()) return;
  auto callbacks = std::move(callbacks_);
  g_models.Recycle(this);
  // A thread that runs tasks must not wait in one for what it runs itself.
  bool in_task = Runner::Current() != nullptr;
  for (auto [callback, data] : callbacks) in_task ? TellOnCallbackThread(callback, data) : callback(data);
}

}  // namespace belay::rt
