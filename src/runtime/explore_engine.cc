#include "runtime/explore_engine.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/thread.h"
#include "runtime/callback_pool.h"
#include "runtime/in_flight.h"
#include "runtime/observer.h"
#include "runtime/parallel_backend.h"
#include "runtime/thread_engine.h"

namespace belay::rt {
namespace {

constexpr int64_t kExitNs = 2'000'000'000;  // that exit() waits for a running task
constexpr int64_t kLookNs = 1'000'000;      // between looks of a host that waits
constexpr int kSilentLooks = 4;             // without a call, until the host counts as silent
constexpr uint32_t kDemotePercent = 3;      // of steps
constexpr uint32_t kStayPercent = 85;
constexpr size_t kUsualStreams = 4096;

constinit std::atomic<ExploreEngine*> g_explorer{nullptr};

constexpr CallHook kCallHook = {
    [] {
      if (ExploreEngine* explorer = TheExploreEngine()) explorer->HostCalls();
    },
    [] {
      if (ExploreEngine* explorer = TheExploreEngine()) explorer->HostReturns();
    },
};

uint64_t Mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

uint64_t SeededNumbers::Next() { return Mixed(state_ += 0x9e3779b97f4a7c15u); }

// Every second style lets a wait run only what it needs and nothing before: what the program forgot to wait
// for is then not done.
ExploreStyle ExploreStyle::Of(uint64_t seed) {
  if (seed == 0) return {100, false, Next::kOldest};
  SeededNumbers numbers(seed);
  constexpr uint32_t kAtCall[] = {0, 0, 15, 55};
  constexpr Next kNext[] = {Next::kAny, Next::kPriorities, Next::kPriorities, Next::kSame};
  const uint32_t at_call = kAtCall[numbers.Below(4)];
  const bool only_needed = numbers.Chance(50);
  return {at_call, only_needed, kNext[numbers.Below(4)]};
}

ExploreEngine* TheExploreEngine() { return g_explorer.load(std::memory_order_acquire); }

void InstallExploreEngine(ExploreEngine* engine) {
  g_explorer.store(engine, std::memory_order_release);
  SetCallHook(engine == nullptr ? nullptr : &kCallHook);
  InstallThreadEngine(nullptr);
  if (engine != nullptr) InstallEngine(engine);
}

void AbandonExploreEngineInChild() {
  g_explorer.store(nullptr, std::memory_order_release);
  SetCallHook(nullptr);
}

// --- life

ExploreEngine::ExploreEngine(uint64_t seed, ExplorePatience patience) : patience_(patience) {
  explores_ = true;
  Begin(seed);
}

void ExploreEngine::Restart(uint64_t seed) {
  timekeeper_.Restart();
  Begin(seed);
}

void ExploreEngine::Begin(uint64_t seed) {
  {
    std::lock_guard guard(lock_);
    numbers_ = SeededNumbers(Mixed(seed));
    style_ = ExploreStyle::Of(seed);
    ready_.clear();
    ready_.reserve(kUsualStreams);
    priorities_.clear();
    lowest_ = uint64_t{1} << 62;
    last_ = nullptr;
  }
  asked_.store(false);
  runs_at_end_.store(true);
  stop_.store(0);
  watched_ = StartThread(&silence_, "belay-explore", &ExploreEngine::SilenceMain, this);
  if (!watched_) {
    Fail(
        codes::kRtResourceAllocFail, "no-worker-thread",
        "the thread that watches for a silent host could not be started; raise the limit on processes (ulimit -u)");
  }
}

void ExploreEngine::Stop() {
  stop_.store(1);
  FutexWake(stop_);
  Notice();
  if (watched_) pthread_join(silence_, nullptr);
  watched_ = false;
  timekeeper_.Stop();
  std::lock_guard guard(lock_);
  ready_.clear();
}

// Who synchronises afterwards runs what is left.
bool ExploreEngine::StopForExit() {
  stop_.store(1);
  FutexWake(stop_);
  Notice();
  const int64_t end = NowNs() + kExitNs;
  while (!turn_.try_lock()) {
    if (NowNs() > end) return false;
    sched_yield();
  }
  turn_.unlock();
  return true;
}

// --- who is next

void ExploreEngine::MakeReady(Stream& stream, TaskCost) {
  {
    std::lock_guard guard(lock_);
    if (std::find(ready_.begin(), ready_.end(), &stream) == ready_.end()) ready_.push_back(&stream);
  }
  Notice();
}

void ExploreEngine::Notice() {
  epoch_.fetch_add(1, std::memory_order_release);
  FutexWake(epoch_);
}

uint32_t ExploreEngine::Choose(uint32_t n) {
  std::lock_guard guard(lock_);
  return style_.next == ExploreStyle::Next::kOldest ? 0 : numbers_.Below(n);
}

// The ready stream that has to get on before the goal can; null: who that is nobody knows.
Stream* ExploreEngine::NeededBy(Stream& goal) {
  Stream* stream = &goal;
  for (int hops = 0; hops < 64 && stream != nullptr; ++hops) {
    if (stream->state() == StreamState::kReady) return stream;
    stream = stream->parked_at().source;
  }
  return nullptr;
}

// Under lock_. A stream has its priority from when it is first seen here on.
uint64_t& ExploreEngine::PriorityOf(const Stream& stream) {
  auto [found, fresh] = priorities_.try_emplace(stream.id(), 0);
  if (fresh) found->second = numbers_.Next() | (uint64_t{1} << 63);
  return found->second;
}

// Under lock_, with ready_ not empty.
size_t ExploreEngine::PlaceByPriority() {
  size_t best = 0;
  for (size_t i = 0; i < ready_.size(); ++i) {
    if (PriorityOf(*ready_[i]) > PriorityOf(*ready_[best])) best = i;
  }
  if (numbers_.Chance(kDemotePercent)) PriorityOf(*ready_[best]) = --lowest_;
  return best;
}

// Under lock_, with ready_ not empty.
size_t ExploreEngine::PlaceOf(Stream* goal) {
  if (goal != nullptr && style_.only_needed) {
    auto needed = std::find(ready_.begin(), ready_.end(), NeededBy(*goal));
    if (needed != ready_.end()) return static_cast<size_t>(needed - ready_.begin());
  }
  const auto any = [&] { return size_t{numbers_.Below(static_cast<uint32_t>(ready_.size()))}; };
  switch (style_.next) {
    case ExploreStyle::Next::kOldest:
      return 0;
    case ExploreStyle::Next::kAny:
      return any();
    case ExploreStyle::Next::kPriorities:
      return PlaceByPriority();
    case ExploreStyle::Next::kSame:
      break;
  }
  auto same = std::find(ready_.begin(), ready_.end(), last_);
  if (same == ready_.end() || !numbers_.Chance(kStayPercent)) return any();
  return static_cast<size_t>(same - ready_.begin());
}

Stream* ExploreEngine::Pick(Stream* goal) {
  std::lock_guard guard(lock_);
  std::erase_if(ready_, [](const Stream* stream) { return stream->state() != StreamState::kReady; });
  if (ready_.empty()) return nullptr;
  const auto place = ready_.begin() + static_cast<ptrdiff_t>(PlaceOf(goal));
  last_ = *place;
  ready_.erase(place);
  return last_;
}

// --- running

// Runs one task, for a host that waits for the goal or for nobody. False: none is ready.
bool ExploreEngine::Step(Stream* goal, int64_t deadline_ns) {
  if (Runner::Current() != nullptr) return false;
  Stream* stream;
  {
    std::lock_guard turn(turn_);
    stream = Pick(goal);
    if (stream == nullptr) return false;
    if (!stream->TryTake()) return true;
    NoCancellation no_cancellation;
    DefaultFloatMode float_mode;
    Runner runner;  // marks the thread as one inside of a task
    stream->Run(stream->completed() + 1);
  }
  Notice();
  LetCallbackEnd(*stream, deadline_ns);
  return true;
}

// From when its callback was started until the stream is one of those to choose from: it is no longer parked
// a moment before the callback's thread says so here.
bool ExploreEngine::CallbackComesBack(Stream& stream) {
  if (stream.parked_at().reason == ParkReason::kCallback) return true;
  std::lock_guard guard(lock_);
  return stream.state() == StreamState::kReady &&
         std::find(ready_.begin(), ready_.end(), &stream) == ready_.end();
}

// A callback is most often short: what it sets free is then ready before the next choice is made, whatever
// the time.
void ExploreEngine::LetCallbackEnd(Stream& stream, int64_t deadline_ns) {
  int64_t end = NowNs() + patience_.callback_ns;
  if (deadline_ns >= 0) end = std::min(end, deadline_ns);
  while (CallbackComesBack(stream)) {
    const uint32_t epoch = epoch_.load(std::memory_order_acquire);
    const int64_t left = end - NowNs();
    if (InCallback()) return;
    if (left <= 0) {
      callbacks_left_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (CallbackComesBack(stream)) FutexWait(epoch_, epoch, std::min(left, kLookNs));
  }
}

void ExploreEngine::AskedInVain() { asked_.store(true, std::memory_order_relaxed); }

// Who asks again and again sees the work go on.
void ExploreEngine::HostCalls() {
  epoch_.fetch_add(1, std::memory_order_release);
  if (!MayRunTasks()) return;
  if (asked_.exchange(false, std::memory_order_relaxed)) Step(nullptr);
  RunSome();
}

// What runs now has run before the program's next load or store; what runs at its next call comes after it.
//
// Who calls may hold a lock that a callback needs: after the first callback that did not end nothing is run
// here any more, so that the program does not stand still at each call.
void ExploreEngine::HostReturns() {
  epoch_.fetch_add(1, std::memory_order_release);
  if (!runs_at_end_.load(std::memory_order_relaxed) || !MayRunTasks()) return;
  const uint32_t before = callbacks_left_.load(std::memory_order_relaxed);
  RunSome();
  if (callbacks_left_.load(std::memory_order_relaxed) != before)
    runs_at_end_.store(false, std::memory_order_relaxed);
}

bool ExploreEngine::MayRunTasks() {
  return Runner::Current() == nullptr && !InCallback() && StackLeft() >= kTaskStack;
}

void ExploreEngine::RunSome() {
  for (;;) {
    {
      std::lock_guard guard(lock_);
      if (!numbers_.Chance(style_.at_call)) return;
    }
    if (!Step(nullptr)) return;
  }
}

bool ExploreEngine::Await(Stream& stream, uint64_t position, int64_t deadline_ns) {
  const bool helps = Runner::Current() == nullptr && StackLeft() >= kTaskStack;
  if (helps) waiting_.fetch_add(1);
  bool reached;
  while (!(reached = stream.Reached(position)) && (deadline_ns < 0 || NowNs() < deadline_ns)) {
    const uint32_t epoch = epoch_.load(std::memory_order_acquire);
    if (helps && Step(&stream, deadline_ns)) continue;
    if (stop_.load() != 0 && helps) break;  // the process ends, and nothing will let the stream go on
    if (stream.Reached(position)) continue;
    MayBeCancelled::Check();
    FutexWait(epoch_, epoch, kLookNs);
  }
  if (helps) waiting_.fetch_sub(1);
  return reached;
}

// --- silence

void* ExploreEngine::SilenceMain(void* self) {
  static_cast<ExploreEngine*>(self)->WatchSilence();
  return nullptr;
}

// Counts looks and not time: where the machine stood still, the host did not get to its next call either.
//
// One task first, then two, four: who looks at memory for the end of the first sees that not all is done.
void ExploreEngine::WatchSilence() {
  uint32_t seen = epoch_.load();
  int looks = 0;
  uint64_t most = 1;
  while (stop_.load() == 0) {
    FutexWait(stop_, 0, patience_.silence_ns / kSilentLooks);
    const uint32_t now = epoch_.load(std::memory_order_acquire);
    looks = now == seen && waiting_.load() == 0 ? looks + 1 : 0;
    seen = now;
    if (looks == 0) most = 1;
    if (looks < kSilentLooks) continue;
    uint64_t run = 0;
    while (run < most && stop_.load() == 0 && epoch_.load(std::memory_order_acquire) == seen &&
           Step(nullptr)) {
      Observers::Tell([](Observer& o) { o.HostWasSilent(); });
      seen = epoch_.load();
      ++run;
    }
    if (run == most) most *= 2;
    seen = epoch_.load();
  }
}

}  // namespace belay::rt
