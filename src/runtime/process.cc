#include "runtime/process.h"

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "runtime/callback_pool.h"
#include "runtime/context.h"
#include "runtime/event.h"
#include "runtime/explore_engine.h"
#include "runtime/in_flight.h"
#include "runtime/memory.h"
#include "runtime/model_ri.h"
#include "runtime/notify.h"
#include "runtime/settings.h"
#include "runtime/task_queue.h"
#include "runtime/thread_engine.h"

namespace belay::rt {

constinit std::atomic<ProcessState> g_process_state{ProcessState::kNotStarted};
constinit std::atomic<bool> g_calls_pass{false};

namespace {

constinit std::mutex g_lock;
constinit uint64_t g_starts = 0;
constinit Engine* g_running = nullptr;
constinit ThreadEngine* g_threads = nullptr;
constinit ExploreEngine* g_exploring = nullptr;
constinit int g_device_of_config = -1;
constinit std::atomic<void (*)()> g_release_calls{nullptr};

constinit std::atomic<bool> g_calls_ask{false};

void SetState(ProcessState state) {
  g_process_state.store(state, std::memory_order_release);
  g_calls_pass.store(state == ProcessState::kRunning && !g_calls_ask, std::memory_order_release);
}

// In the child of fork only the calling thread is left: the workers are gone, and locks may be held by
// threads that are gone too. Nothing works until aclInit starts afresh. The parent may have been in any
// state, in the middle of aclInit too.
void OnForkInChild() {
  Observers::AbandonInChild();
  AbandonExploreEngineInChild();  // before a call, which would run tasks
  SetState(ProcessState::kForked);
  new (&g_lock) std::mutex;
}

// exit() runs this before the destructors of libraries that were loaded earlier: no worker may run a task
// then. What waits is dropped; what destructors still submit is run by the thread that synchronises.
void OnExit() {
  if (!Running() && StateOfProcess() != ProcessState::kEnding) return;
  // A callback that calls exit() may be what another thread waits for in aclFinalize.
  std::unique_lock guard(g_lock, std::try_to_lock);
  Streams().ForEach([](Stream& stream) { stream.CutShort(); });
  if (!guard.owns_lock() || g_running == nullptr) return;
  if (g_running->StopForExit()) Streams().ForEach([](Stream& stream) { stream.ResumeInExit(); });
}

void HookProcess() {
  static const bool hooked = [] {
    AtForkInChild(&OnForkInChild);
    std::atexit(&OnExit);
    return true;
  }();
  (void)hooked;
}

void ForgetParent() {
  Streams().AbandonInChild();
  Events().AbandonInChild();
  Contexts().AbandonInChild();
  Models().AbandonInChild();
  Notify::AbandonAllInChild();
  AbandonTaskChunksInChild();
  g_running = g_threads = nullptr;  // its threads do not exist here; the object is left alone
  g_exploring = nullptr;
  g_starts = 0;
}

MemoryConfig MemoryOf(const Settings& settings) {
  return {settings.devices, settings.device_bytes, settings.alias_offset};
}

// Each kind of engine is one object for ever, so that nobody holds a pointer to one that is gone.
template <class Kind, class Config>
void StartOrRestart(Kind*& engine, const Config& config) {
  if (engine == nullptr) {
    engine = new Kind(config);
  } else {
    engine->Restart(config);
  }
  g_running = engine;
}

void StartEngine(const Settings& settings) {
  if (settings.explore) {
    StartOrRestart(g_exploring, *settings.explore);
    return InstallExploreEngine(g_exploring);
  }
  if (TheExploreEngine() != nullptr) InstallExploreEngine(nullptr);
  StartOrRestart(g_threads, ThreadEngineConfig{settings.workers, settings.help, settings.one_core});
  InstallThreadEngine(g_threads);
}

void StartFirst(int default_device) {
  Settings settings = ReadSettings();
  if (settings.devices == 0) {
    Fail(codes::kRtNoDevice, "no-device", "ASCEND_RT_VISIBLE_DEVICES leaves no device of those that exist");
  }
  StartClock();
  SetStreamDepth(settings.stream_depth);
  SetStreamLimit(settings.stream_limit);
  UseSettings(settings);
  if (StateOfProcess() == ProcessState::kForked) {
    RestartMemoryInChild(MemoryOf(settings));
  } else {
    StartMemory(MemoryOf(settings));
  }
  CreateDevices(settings.devices);
  if (default_device >= 0) DeviceAt(default_device);  // throws when there is none
  SetDefaultDevice(default_device);
  g_device_of_config = default_device;
  StartEngine(settings);
}

// Nothing may hold up a call that is in flight any more: what streams hold is dropped.
void FreeCalls() {
  Streams().ForEach([](Stream& stream) { stream.Drop(); });
  if (void (*release)() = g_release_calls.load()) release();
}

void StopLocked() {
  if (!Running()) {
    Fail(codes::kRepeatFinalize, "finalize-twice",
         "there is nothing to end: aclInit was not called, or aclFinalize was already");
  }
  CallbackScope scope;  // of the program that are called on the way
  Observers::Tell([](Observer& o) { o.Finalizing(); });
  g_starts = 0;
  SetState(ProcessState::kEnding);
  WaitForCallsInFlight(&FreeCalls);
  for (int i = 0; i < DeviceCount(); ++i) {
    if (DeviceAt(i).default_context() != nullptr) DeviceAt(i).Release(true);
  }
  Contexts().ForEach([](Context& context) { DestroyContext(context, true); });
  Events().ForEach([](Event& event) {
    if (event.counted()) event.device().ReturnEventSlot();
    Events().Destroy(Events().HandleOf(&event));
  });
  Models().ForEach([](ModelRI& model) { ModelRI::Destroy(model); });
  for (int i = 0; i < DeviceCount(); ++i) {
    Notify::DestroyAllOf(DeviceAt(i));
    ReleaseDeviceMemory(i);
  }
  g_running->Stop();  // it stays installed, without workers: a callback that ends late may still ask it
  EndCallbackThreads();
  SetState(ProcessState::kFinalized);
}

}  // namespace

void SetCallsAsk(bool ask) { g_calls_ask = ask; }

namespace {

// The end waits for callbacks, so a callback cannot wait for the end.
std::unique_lock<std::mutex> LockForStart() {
  std::unique_lock guard(g_lock, std::defer_lock);
  if (!InCallback()) {
    guard.lock();
    return guard;
  }
  while (!guard.try_lock()) {
    if (StateOfProcess() == ProcessState::kEnding) {
      Fail(codes::kUninitialize, "init-while-ending",
           "aclFinalize is under way and waits for this callback; call aclInit after it has returned");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return guard;
}

}  // namespace

void Start(int default_device) {
  HookProcess();
  PrepareCallFence();
  MakeAllPerProcess();
  OutsideCalls outside;  // the one who has the lock may be waiting for calls in flight
  if (StateOfProcess() == ProcessState::kForked) ForgetParent();
  std::unique_lock guard = LockForStart();
  if (StateOfProcess() == ProcessState::kRunning) {
    if (default_device >= 0 && default_device != g_device_of_config) {
      Fail(codes::kRepeatInitialize, "init-again",
           "aclInit was called before with another default device ({}); call aclFinalize first",
           g_device_of_config);
    }
    ++g_starts;
    return;
  }
  StartFirst(default_device);
  g_starts = 1;
  SetState(ProcessState::kRunning);
}

uint64_t StopOne() {
  OutsideCalls outside;
  std::lock_guard guard(g_lock);
  if (Running() && g_starts > 1) return --g_starts;
  StopLocked();
  return 0;
}

void Stop() {
  OutsideCalls outside;
  std::lock_guard guard(g_lock);
  StopLocked();
}

void SetCallReleaser(void (*release)()) { g_release_calls.store(release); }

}  // namespace belay::rt
