// GEInitialize and GEFinalize, and the table of sessions.
#include <atomic>

#include "api/log.h"
#include "api/start.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/number.h"
#include "base/thread.h"
#include "ge/codes.h"
#include "ge/guard.h"
#include "ge/session_state.h"
#include "graph/build_model.h"
#include "graph/single_op.h"
#include "runtime/context.h"
#include "runtime/in_flight.h"
#include "runtime/process.h"

namespace belay::graph_interface {
namespace {

struct Engine {
  std::mutex lock;
  bool running = false;
  bool started_runtime = false;
  Options options;
  uint64_t last = 0;
  std::map<uint64_t, std::shared_ptr<SessionState>> sessions;
  std::map<uint64_t, std::string> refused;  // why there is no session of this number
};
Engine& TheEngine() { return PerProcess<Engine>::Get(); }

void NeedRunning(const Engine& engine) {
  if (!engine.running)
    Fail(kNotInitialised, "ge-not-initialised",
         "GEInitialize was not called, or GEFinalize was; call GEInitialize first");
}

// What a card's compiler is told and Belay has no use for is said once and left out. An option that it knows
// must have a value that it knows too.
Options Known(const Options& options) {
  Options known;
  for (const auto& [key, value] : options) {
    if (graph::IsBuildOption(key)) {
      known.emplace(key, value);
    } else {
      Warn("GE", "option " + key + " (\"" + value + "\") is not known and is ignored");
    }
  }
  graph::CheckBuildOptions(known);
  return known;
}

int DeviceIn(const Options& options) {
  for (const char* key : {"ge.session_device_id", "ge.exec.deviceId"}) {
    auto it = options.find(key);
    if (it == options.end()) continue;
    const auto device = NumberIn<int>(it->second);
    if (!device) {
      Fail(kBadArgument, "ge-device-option", "option {} is \"{}\", which is no number of a device", key,
           it->second);
    }
    if (*device >= 0) rt::DeviceAt(*device);  // throws when there is none
    return *device;
  }
  return -1;
}

}  // namespace

void StartEngine(Options options) {
  Engine& engine = TheEngine();
  std::lock_guard hold(engine.lock);
  if (engine.running) return;
  bool start = !rt::Running();
  if (start) {
    api::ReadLogSettings();
    api::StartRuntime(-1);
  }
  try {
    DeviceIn(options);
    engine.options = Known(options);
  } catch (...) {
    if (start) rt::StopOne();
    throw;
  }
  engine.started_runtime = start;
  engine.running = true;
}

void StopEngine() {
  Engine& engine = TheEngine();
  std::map<uint64_t, std::shared_ptr<SessionState>> sessions;
  bool stop = false;
  {
    std::lock_guard hold(engine.lock);
    if (!engine.running) return Warn("GEFinalize", "GEInitialize was not called; there is nothing to end");
    engine.running = false;
    engine.options.clear();
    sessions.swap(engine.sessions);
    stop = std::exchange(engine.started_runtime, false);
  }
  sessions.clear();  // their queued runs end first
  if (!stop || !rt::Running() || rt::StopOne() != 0) return;
  graph::RemoveModelsOf(-1);
  graph::ForgetPreparedOps();
}

void OpenSession(Options options, uint64_t* id) {
  Engine& engine = TheEngine();
  std::lock_guard hold(engine.lock);
  NeedRunning(engine);
  *id = ++engine.last;
  try {
    Options all = Known(options);
    all.insert(engine.options.begin(), engine.options.end());
    engine.sessions.emplace(*id, std::make_shared<SessionState>(std::move(all)));
  } catch (const Error& error) {
    engine.refused.emplace(*id, error.sentence());
    throw;
  }
}

void CloseSession(uint64_t id) {
  std::shared_ptr<SessionState> gone;
  Engine& engine = TheEngine();
  std::lock_guard hold(engine.lock);
  engine.refused.erase(id);
  auto it = engine.sessions.find(id);
  if (it == engine.sessions.end()) return;
  gone = std::move(it->second);
  engine.sessions.erase(it);
}

std::shared_ptr<SessionState> FindSession(uint64_t id) {
  Engine& engine = TheEngine();
  std::lock_guard hold(engine.lock);
  NeedRunning(engine);
  auto it = engine.sessions.find(id);
  if (it != engine.sessions.end()) return it->second;
  if (auto refused = engine.refused.find(id); refused != engine.refused.end()) {
    Fail(kBadArgument, "ge-session-refused",
         "there is no session, because its constructor failed: {}; make it again with other options",
         refused->second);
  }
  Fail(kBadArgument, "ge-session-gone",
       "the session is gone: it was made before GEInitialize, or GEFinalize ended it; make a new one");
}

// --- sessions

SessionState::SessionState(Options options) : options_(std::move(options)), device_(DeviceIn(options_)) {}

SessionState::~SessionState() {
  later_.Finish();  // what is queued uses the graphs
  if (!uses_device_ || !rt::Running()) return;
  graphs_.clear();
  rt::Device& device = rt::DeviceAt(device_);
  try {
    if (device.default_context() != nullptr) device.Release(false);
  } catch (const Error&) {
    // Another thread has reset it in between.
  }
}

rt::Device& SessionState::Device() {
  std::lock_guard hold(lock_);
  if (!rt::Running())
    Fail(kNotInitialised, "ge-runtime-ended",
         "the runtime was ended (aclFinalize); call aclInit again first");
  if (device_ < 0) device_ = rt::CurrentDeviceOrZero();
  rt::Device& device = rt::DeviceAt(device_);
  if (device.default_context() == nullptr) {
    device.Use();
    uses_device_ = true;
  }
  return device;
}

void SessionState::Add(uint32_t id, std::shared_ptr<SessionGraph> graph) {
  std::lock_guard hold(lock_);
  if (!graphs_.emplace(id, std::move(graph)).second) {
    Fail(kBadArgument, "ge-graph-id-taken", "the session has a graph {} already; remove it first", id);
  }
}
void SessionState::Remove(uint32_t id) {
  std::shared_ptr<SessionGraph> gone = Graph(id);
  std::lock_guard hold(lock_);
  graphs_.erase(id);
}
std::shared_ptr<SessionGraph> SessionState::Graph(uint32_t id) {
  std::lock_guard hold(lock_);
  auto it = graphs_.find(id);
  if (it != graphs_.end()) return it->second;
  Fail(kBadArgument, "ge-graph-id", "the session has no graph {}; add it first", id);
}

Options SessionState::With(Options options) const {
  Options all = Known(options);
  all.insert(options_.begin(), options_.end());
  return all;
}

void SessionState::SetAllocator(const void* stream, ge::AllocatorPtr allocator) {
  std::lock_guard hold(lock_);
  if (allocator != nullptr) {
    allocators_[stream] = std::move(allocator);
  } else {
    allocators_.erase(stream);
  }
}
ge::AllocatorPtr SessionState::AllocatorOf(const void* stream) {
  std::lock_guard hold(lock_);
  auto it = allocators_.find(stream);
  return it == allocators_.end() ? nullptr : it->second;
}

// --- graphs of sessions

SessionGraph::SessionGraph(graph::ModelFile file, Options options)
    : options_(std::move(options)), file_(std::make_shared<const graph::ModelFile>(std::move(file))) {}

SessionGraph::~SessionGraph() {
  try {
    if (model_ != 0) graph::RemoveModel(model_);
  } catch (const Error&) {
    // It went with its device.
  }
}

// --- runs in the background

void LaterRuns::Add(std::function<void()> run) {
  std::lock_guard hold(queue_->lock);
  if (!started_) {
    auto shared = std::make_unique<std::shared_ptr<Queue>>(queue_);
    started_ = StartThread(&thread_, "belay-ge", &LaterRuns::Main, shared.get());
    if (!started_) {
      Fail(kNoResource, "ge-no-thread",
           "no thread could be started for RunGraphAsync; raise the limit on processes (ulimit -u)");
    }
    (void)shared.release();
  }
  queue_->runs.push_back(std::move(run));
  queue_->changed.notify_one();
}

void* LaterRuns::Main(void* queue) {
  std::unique_ptr<std::shared_ptr<Queue>> shared(static_cast<std::shared_ptr<Queue>*>(queue));
  (*shared)->Loop();
  return nullptr;
}

void LaterRuns::Queue::Loop() {
  std::unique_lock hold(lock);
  while (true) {
    changed.wait(hold, [this] { return ending || !runs.empty(); });
    if (runs.empty()) return;
    std::function<void()> run = std::move(runs.front());
    runs.pop_front();
    hold.unlock();
    run();
    run = nullptr;
    hold.lock();
  }
}

void LaterRuns::Finish() {
  {
    std::lock_guard hold(queue_->lock);
    queue_->ending = true;
    queue_->changed.notify_one();
  }
  if (!std::exchange(started_, false)) return;
  if (pthread_equal(thread_, pthread_self()) != 0) {
    pthread_detach(thread_);
  } else {
    const rt::OutsideCalls outside;  // a callback may call aclFinalize
    pthread_join(thread_, nullptr);
  }
}

}  // namespace belay::graph_interface
