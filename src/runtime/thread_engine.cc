#include "runtime/thread_engine.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <mutex>

#include "base/clock.h"
#include "base/codes.h"
#include "base/futex.h"
#include "base/thread.h"
#include "runtime/parallel_backend.h"
#include "runtime/shared_cores.h"
#include "runtime/stream.h"

namespace belay::rt {
namespace {

constexpr int64_t kSearchNs = 1'000'000;   // a worker without work spins this long before it sleeps
constexpr int64_t kHostSpinNs = 100'000;   // a waiting host, before it sleeps
constexpr int64_t kSharedSpinNs = 20'000;  // either of them where others need the core
constexpr int kExitSeconds = 2;            // that exit() waits for running tasks
constexpr int kPausesBetweenLooks = 64;    // one or two microseconds
constexpr int kMostKept = 64;              // streams that a worker runs one after another past the ready list
constexpr int64_t kPatienceNs = 25'000;    // with small work that another worker will come to

constinit thread_local bool t_is_worker = false;
constinit std::atomic<ThreadEngine*> g_thread_engine{nullptr};

}  // namespace

// --- ready list

bool ReadyList::Push(Stream& stream) {
  if (stream.in_ready_list_) return false;
  stream.in_ready_list_ = true;
  stream.ready_next_ = nullptr;
  uint32_t priority = stream.priority();
  Queue& queue = queues_[priority];
  (queue.first == nullptr ? queue.first : queue.last->ready_next_) = &stream;
  queue.last = &stream;
  priorities_ |= 1u << priority;
  return true;
}

Stream* ReadyList::Pop() {
  if (priorities_ == 0) return nullptr;
  uint32_t priority = Pick();
  Queue& queue = queues_[priority];
  Stream* stream = queue.first;
  queue.first = stream->ready_next_;
  if (queue.first == nullptr) priorities_ &= ~(1u << priority);
  stream->in_ready_list_ = false;
  return stream;
}

uint32_t ReadyList::Pick() {
  uint32_t lower = priorities_ & (priorities_ - 1);
  if (lower == 0 || ++picks_ % kTurnOfLower != 0) [[likely]]
    return static_cast<uint32_t>(std::countr_zero(priorities_));
  uint32_t next = lower & ~((2u << turn_) - 1);
  turn_ = static_cast<uint32_t>(std::countr_zero(next != 0 ? next : lower));
  return turn_;
}

ThreadEngine* TheThreadEngine() { return g_thread_engine.load(std::memory_order_acquire); }

void InstallThreadEngine(ThreadEngine* engine) {
  g_thread_engine.store(engine, std::memory_order_release);
  InstallEngine(engine);
  InstallParallelBackend(engine == nullptr ? 1 : engine->workers());
}

// --- life

ThreadEngine::ThreadEngine(const ThreadEngineConfig& config) : config_(config) {
  runs_at_once_ = config.help;
  StartWorkers();
}

void ThreadEngine::Restart(const ThreadEngineConfig& config) {
  config_ = config;
  runs_at_once_ = config.help;
  {
    std::lock_guard guard(lock_);
    while (ready_.Pop() != nullptr) {  // of streams that were closed meanwhile
    }
    NoteReady();
    waking_ = 0;
  }
  timekeeper_.Restart();
  stop_.store(false, std::memory_order_release);
  stopped_.store(false, std::memory_order_release);
  StartWorkers();
}

void ThreadEngine::StartWorkers() {
  threads_.reserve(config_.workers);
  width_.store(config_.workers, std::memory_order_relaxed);
  for (int i = 0; i < config_.workers; ++i) {
    pthread_t thread;
    std::string name = "belay-work-" + std::to_string(i);
    if (!StartThread(&thread, name.c_str(), &ThreadEngine::WorkerMain, this)) break;
    threads_.push_back(thread);
  }
  width_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
  if (threads_.empty()) {
    Fail(codes::kRtResourceAllocFail, "no-worker-thread",
         "no worker thread could be started; raise the limit on processes (ulimit -u)");
  }
}

ThreadEngine::~ThreadEngine() { Stop(); }

void ThreadEngine::TellToStop() {
  stop_.store(true, std::memory_order_release);
  has_urgent_.store(true, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  FutexWake(epoch_);
}

void ThreadEngine::Stop() {
  TellToStop();
  for (pthread_t thread : threads_) pthread_join(thread, nullptr);
  threads_.clear();
  Stopped();
}

bool ThreadEngine::StopForExit() {
  TellToStop();
  timespec limit;
  clock_gettime(CLOCK_MONOTONIC, &limit);
  limit.tv_sec += kExitSeconds;
  std::erase_if(threads_, [&](pthread_t thread) {
    return pthread_clockjoin_np(thread, nullptr, CLOCK_MONOTONIC, &limit) == 0;
  });
  if (threads_.empty() && lock_.TryLockAWhile()) {
    lock_.unlock();
    Stopped();
  }
  stopped_.store(true, std::memory_order_release);
  return threads_.empty();
}

void ThreadEngine::Stopped() {
  {
    // Streams outlive the engine: none may believe that it still stands in this list. A callback that
    // has just returned may be adding one.
    std::lock_guard guard(lock_);
    while (ready_.Pop() != nullptr) {
    }
  }
  timekeeper_.Stop();
  stopped_.store(true, std::memory_order_release);
}

void* ThreadEngine::WorkerMain(void* self) {
  t_is_worker = true;
  static_cast<ThreadEngine*>(self)->Work();
  return nullptr;
}

// --- workers

void ThreadEngine::Work() {
  Runner runner;
  int kept = 0;  // streams that went past one in the list
  while (!stop_.load(std::memory_order_acquire)) {
    Stream* stream = runner.Take();
    if (stream != nullptr && has_ready() && (has_ready_above(stream->priority()) || ++kept > kMostKept)) {
      MakeReady(*stream, kUnknownCost);
      stream = nullptr;
    }
    if (stream == nullptr) {
      kept = 0;
      stream = NextStream();
    }
    if (stream != nullptr && stream->TryTake()) {
      stream->Run(UINT64_MAX, &stop_);
      runner.EndRun();
    }
  }
}

// A stream to try, or null after offered work was done or when stopping.
Stream* ThreadEngine::NextStream() {
  std::unique_lock lock(lock_);
  for (;;) {
    if (stop_.load(std::memory_order_relaxed)) return nullptr;
    if (JoinOffer()) return nullptr;
    Stream* stream = ready_.Pop();
    NoteReady();
    if (ready_.empty() && offers_ == nullptr) has_urgent_.store(false, std::memory_order_relaxed);
    if (stream != nullptr) {
      ++taken_;
      return stream;
    }
    has_urgent_.store(false, std::memory_order_relaxed);
    if (searching_ == 0 && FreeCores() + 1 > 0) {  // its own core is free as well
      ++searching_;
      lock.unlock();
      SearchForAWhile();
      lock.lock();
      --searching_;
      if (has_ready() || has_urgent_.load(std::memory_order_relaxed)) continue;
    }
    // In this order: TellToStop takes no lock (exit() may be called anywhere), and counts after it has said
    // so.
    uint32_t epoch = epoch_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return nullptr;
    ++sleeping_;
    lock.unlock();
    FutexWait(epoch_, epoch, -1);
    lock.lock();
    --sleeping_;
    if (waking_ > 0) --waking_;
  }
}

// Whether somebody else needs the core of a thread that spins.
bool ThreadEngine::SharesItsCore() const { return config_.one_core || SharesCores(); }

void ThreadEngine::SearchForAWhile() {
  int64_t now = NowNs();
  const bool shared = SharesItsCore();
  int64_t end = now + (shared ? kSharedSpinNs : kSearchNs);
  Sight sight;
  while (now < end) {
    for (int i = 0; i < kPausesBetweenLooks; ++i) {
      if (has_urgent()) return;
      CpuRelax();
    }
    if (shared) sched_yield();
    now = NowNs();
    std::lock_guard guard(lock_);
    if (ready_.empty() ? FreeCores() <= 0 : WorthTaking(sight, now)) return;
    sight = {made_ready_, taken_, ready_.empty() || taken_ != sight.taken ? now : sight.since};
  }
}

// Under lock_: tells those who look without it what stands in the list.
void ThreadEngine::NoteReady() {
  uint32_t priorities = ready_.priorities();
  if (ready_priorities_.load(std::memory_order_relaxed) != priorities) {
    ready_priorities_.store(priorities, std::memory_order_relaxed);
  }
}

// Under lock_: whether a searching worker should take small work from the list. Not at once: a host that
// has submitted one small task will submit more, or wait and run it itself, and a worker that is running
// small work comes back soon; each of them has the data in its cache.
bool ThreadEngine::WorthTaking(const Sight& before, int64_t now) const {
  if (taken_ == before.taken && now - before.since >= kPatienceNs) return true;
  return made_ready_ == before.made_ready && !OthersAtSmallWork();
}

// Under lock_: cores that workers at work and waiting hosts leave. One more thread that is awake would take
// its core from one of them, who may hold what the others wait for.
int ThreadEngine::FreeCores() const {
  return sleeping_ + searching_ - hosts_.load(std::memory_order_relaxed);
}

// Under lock_: whether some worker is running streams and comes back to the list soon.
bool ThreadEngine::OthersAtSmallWork() const {
  return workers() - sleeping_ - searching_ - in_long_task_ > 0;
}

// Under lock_: whether the push of a task must wake a sleeper, so that it starts in good time.
bool ThreadEngine::ShouldWake(TaskCost cost) const {
  if (sleeping_ - waking_ <= 0) return false;
  if (searching_ > 0 || waking_ > 0) return false;
  int awake = workers() - sleeping_;
  return awake - in_long_task_ <= 0 || cost >= kLongTask;
}

// Under lock_: counts one sleeper as woken. FutexWake follows without the lock; it does not look at the
// word, so it does not matter that what the push set off may have ended the engine by then.
void ThreadEngine::CallOne() {
  ++waking_;
  epoch_.fetch_add(1, std::memory_order_release);
}

void ThreadEngine::MakeReady(Stream& stream, TaskCost cost) {
  bool wake;
  {
    std::lock_guard guard(lock_);
    ++made_ready_;
    if (cost >= kWorthSharing) has_urgent_.store(true, std::memory_order_release);
    if (!ready_.Push(stream)) return;  // it stands there since before somebody took it beside the list
    NoteReady();
    wake = ShouldWake(cost);
    if (wake) CallOne();
  }
  if (wake) FutexWake(epoch_, 1);
}

void ThreadEngine::EnterLongTask() {
  bool wake;
  {
    std::lock_guard guard(lock_);
    ++in_long_task_;
    wake = !ready_.empty() && ShouldWake(0);
    if (wake) CallOne();
  }
  if (wake) FutexWake(epoch_, 1);
}

void ThreadEngine::LeaveLongTask() {
  std::lock_guard guard(lock_);
  --in_long_task_;
}

// --- offers

void ThreadEngine::Publish(Offer& offer, int seats, bool wake) {
  int wakes = 0;
  {
    std::lock_guard guard(lock_);
    offer.seats_ = seats;
    offer.next_ = offers_;
    offers_ = &offer;
    has_urgent_.store(true, std::memory_order_release);
    // Hosts that wait take seats as well.
    if (wake) wakes = std::min({seats - searching_, sleeping_ - waking_, FreeCores()});
    if (wakes > 0) {
      waking_ += wakes;
      epoch_.fetch_add(1, std::memory_order_release);
    }
  }
  if (wakes > 0) {
    FutexWake(epoch_, wakes);
  }
}

// Under lock_ (which it leaves meanwhile): works on an offer with a free seat, if there is one.
bool ThreadEngine::JoinOffer() {
  Offer* offer = offers_;
  while (offer != nullptr && offer->seats_ == 0) offer = offer->next_;
  if (offer == nullptr) return false;
  --offer->seats_;
  offer->working_.fetch_add(1, std::memory_order_relaxed);
  lock_.unlock();
  offer->Work();
  offer->working_.fetch_sub(1, std::memory_order_release);  // from here on the offer may be gone
  lock_.lock();
  return true;
}

void ThreadEngine::Withdraw(Offer& offer) noexcept {
  {
    std::lock_guard guard(lock_);
    Offer** link = &offers_;
    while (*link != nullptr && *link != &offer) link = &(*link)->next_;
    if (*link != nullptr) *link = offer.next_;
  }
  for (int spins = 0; offer.working_.load(std::memory_order_acquire) > 0; ++spins) {
    if (spins < 10'000) {
      CpuRelax();
    } else {
      sched_yield();
    }
  }
}

// --- waiting hosts

bool ThreadEngine::Await(Stream& stream, uint64_t position, int64_t deadline_ns) {
  if (stream.Reached(position)) return true;
  // After Stop (exit is under way) nobody else runs tasks.
  bool stopped = stopped_.load(std::memory_order_acquire);
  bool help = (stopped || (config_.help && deadline_ns < 0)) && !t_is_worker &&
              Runner::Current() == nullptr && StackLeft() >= kTaskStack;
  if (SpinFor(stream, position, help)) return true;
  return !stopped && stream.SleepUntil(position, deadline_ns);
}

// Waits without sleeping, and runs tasks if it may, while there is progress; false when it gave up.
bool ThreadEngine::SpinFor(Stream& stream, uint64_t position, bool help) {
  hosts_.fetch_add(1, std::memory_order_relaxed);
  NoCancellation no_cancellation;  // in the middle of a task that it helps with
  DefaultFloatMode float_mode;
  bool reached = stream.Reached(position);
  int64_t spin_end = 0;  // 0: there was progress since the last look at the clock
  while (!reached) {
    for (int idle = 0; idle < 32 && !reached; ++idle) {
      if (help && (HelpOnce(stream, position) || HelpWithOffer())) {
        spin_end = 0;
        idle = 0;
      } else {
        if (!help) stream.Hurry();
        CpuRelax();
      }
      reached = stream.Reached(position);
    }
    if (reached) break;
    int64_t now = NowNs();
    const bool shared = SharesItsCore();
    if (spin_end == 0) spin_end = now + (shared ? kSharedSpinNs : kHostSpinNs);
    if (now >= spin_end) break;
    if (shared) sched_yield();
  }
  hosts_.fetch_sub(1, std::memory_order_relaxed);
  return reached;
}

// Takes a seat at work that is being shared out: what the host waits for is most likely that.
bool ThreadEngine::HelpWithOffer() {
  if (!has_urgent_.load(std::memory_order_relaxed)) return false;
  std::lock_guard guard(lock_);
  return JoinOffer();
}

// Runs a ready stream that `position` depends on, directly or through waits; false when there is none.
bool ThreadEngine::HelpOnce(Stream& stream, uint64_t position) {
  Stream* target = &stream;
  for (int hops = 0; hops < 64; ++hops) {
    StreamState state = target->state();
    if (state == StreamState::kReady) {
      if (!target->TryTake()) return false;
      Runner runner;
      target->Run(position);
      // What became ready here belongs to the same web of waits: go on while it leads to the goal.
      while (!stream.Reached(position)) {
        Stream* next = runner.Take();
        if (next == nullptr || !next->TryTake()) break;
        next->Run(next == &stream ? position : UINT64_MAX);
      }
      return true;
    }
    if (state == StreamState::kRunning) target->Hurry();
    ParkPlace place = target->parked_at();
    if (place.source == nullptr) return false;
    position = place.position;
    target = place.source;
  }
  return false;
}

}  // namespace belay::rt
