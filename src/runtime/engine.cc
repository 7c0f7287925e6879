#include "runtime/engine.h"

#include <algorithm>
#include <atomic>

#include "runtime/stream.h"

namespace belay::rt {
namespace {

constexpr int64_t kMostLag = 8000;  // ns
constexpr uint64_t kFullBatch = 32;
constexpr uint64_t kSmallBatch = 8;

constinit std::atomic<Engine*> g_engine{nullptr};
constinit thread_local Runner* t_runner = nullptr;

}  // namespace

Engine& TheEngine() { return *g_engine.load(std::memory_order_acquire); }
void InstallEngine(Engine* engine) { g_engine.store(engine, std::memory_order_release); }

// Functions of their own: a thread that is cancelled in WaitFor leaves nothing of them on its stack.
[[gnu::cold, gnu::noinline]] static void TellWaits(const Stream& stream, uint64_t position,
                                                   int64_t deadline_ns) {
  Observers::Tell([&](Observer& o) { o.HostWaits(stream, position, deadline_ns); });
}
[[gnu::cold, gnu::noinline]] static void TellGoesOn(const Stream& stream, uint64_t position) {
  Observers::Tell([&](Observer& o) { o.HostGoesOn(stream, position); });
}

bool Engine::WaitFor(Stream& stream, uint64_t position, int64_t deadline_ns) {
  if (!Observers::watch_waits()) [[likely]]
    return Await(stream, position, deadline_ns) && stream.HostSees(position);
  TellWaits(stream, position, deadline_ns);
  const bool reached = Await(stream, position, deadline_ns);
  TellGoesOn(stream, position);
  return reached && stream.HostSees(position);
}

Runner::Runner() : outer_(t_runner) { t_runner = this; }

Runner::~Runner() {
  if (kept_ != nullptr) Share();
  EndRun();
  t_runner = outer_;
}

Runner* Runner::Current() { return t_runner; }

bool Runner::Keep(Stream& stream, TaskCost cost) {
  if (kept_ != nullptr) return false;
  kept_ = &stream;
  kept_cost_ = cost;
  spent_ = 0;
  return true;
}

Stream* Runner::Take() {
  Stream* stream = kept_;
  kept_ = nullptr;
  return stream;
}

// Each look at a queue takes cache lines away from whoever feeds it, so looks should find many tasks. The
// time between looks follows the rate at which they come.
int64_t Runner::Lag() {
  if (tasks_ >= kFullBatch) {
    lag_ = std::min(lag_ * 2, kMostLag);
  } else if (tasks_ < kSmallBatch) {
    lag_ = std::max(lag_ / 2, kLeastLag);
  }
  tasks_ = 0;
  return lag_;
}

void Runner::Share() {
  Stream* stream = Take();
  TheEngine().MakeReady(*stream, std::max(kept_cost_, kWorthSharing));
}

void Runner::NoteLength(TaskCost cost) {
  bool is_long = cost >= kLongTask;
  if (is_long == in_long_task_) return;
  in_long_task_ = is_long;
  if (is_long) {
    TheEngine().EnterLongTask();
  } else {
    TheEngine().LeaveLongTask();
  }
}

}  // namespace belay::rt
