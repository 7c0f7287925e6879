#include "runtime/callback_pool.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <semaphore>
#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/thread.h"

namespace belay::rt {
namespace {

constexpr int64_t kIdleNs = 10'000'000'000;

struct Job {
  HostFunction function = nullptr;
  void* argument = nullptr;
  void (*done)(void*) = nullptr;
  void* context = nullptr;
};

// One thread. It has a job, or stands in the list of idle ones.
struct CallbackThread {
  pthread_t thread{};
  Job job;  // without a function: none
  std::condition_variable called;
  CallbackThread* next_idle = nullptr;
  std::list<CallbackThread>::iterator self;
  bool stays = true;  // else it is about to end
};

struct Pool {
  std::mutex lock;
  std::list<CallbackThread> threads;
  std::list<CallbackThread> ended;  // to be joined, which takes no time any more
  CallbackThread* idle = nullptr;   // the one that became idle last
  std::condition_variable gone;
  size_t staying = 0;
  bool ending = false;

  // Under lock: a new thread with this job, if it has a function.
  void Start(const Job& job);
  void Ends(CallbackThread& thread) {
    if (std::exchange(thread.stays, false)) --staying;
  }
  void Unlink(const CallbackThread& thread);
};

std::atomic<int64_t> g_idle_ns{kIdleNs};
constinit thread_local int t_depth = 0, t_awaited = 0;
constinit thread_local bool t_is_callback_thread = false;

// A child that was forked by a callback runs none itself.
[[maybe_unused]] const bool g_callback_pool_at_fork = AtForkInChild([] {
  t_depth = t_awaited = 0;
  t_is_callback_thread = false;
});

// The stream goes on also when the function ends its thread (pthread_exit, pthread_cancel).
struct Completion {
  const Job& job;
  ~Completion() { job.done(job.context); }
};

void JoinThreads(std::list<CallbackThread>& threads) {
  NoCancellation no_cancellation;
  for (CallbackThread& thread : threads) pthread_join(thread.thread, nullptr);
  threads.clear();
}

// Takes the thread out of the pool when it ends, however that happens. It joins those that ended before, so
// that only one is ever left to be joined.
struct Leave {
  Pool& pool;
  CallbackThread& thread;
  ~Leave() {
    std::list<CallbackThread> before;
    {
      std::lock_guard guard(pool.lock);
      pool.Ends(thread);
      before.swap(pool.ended);
      pool.ended.splice(pool.ended.end(), pool.threads, thread.self);
      pool.gone.notify_all();
    }
    JoinThreads(before);
  }
};

// Runs the job that the thread has; false when there is none.
bool RunJob(Job& job) {
  if (job.function == nullptr) return false;
  Job mine = std::exchange(job, Job{});
  {
    Completion completion{mine};
    CallbackScope scope;
    mine.function(mine.argument);
  }
  pthread_testcancel();  // what the function was asked for too late must not hit the next one
  return true;
}

// Waits for a job; false when the thread shall end.
bool AwaitJob(Pool& pool, CallbackThread& self) {
  NoCancellation no_cancellation;
  std::unique_lock guard(pool.lock);
  if (pool.ending) return false;
  self.next_idle = pool.idle;
  pool.idle = &self;
  while (self.job.function == nullptr && !pool.ending) {
    auto patience = std::chrono::nanoseconds(g_idle_ns.load(std::memory_order_relaxed));
    if (pool.staying == 1) {
      self.called.wait(guard);
    } else if (self.called.wait_for(guard, patience) == std::cv_status::timeout && pool.staying > 1) {
      break;
    }
  }
  if (self.job.function != nullptr) return true;
  pool.Unlink(self);
  pool.Ends(self);
  return false;
}

void* CallbackMain(void* raw) {
  auto& self = *static_cast<CallbackThread*>(raw);
  t_is_callback_thread = true;
  Pool& pool = PerProcess<Pool>::Get();
  Leave leave{pool, self};
  do {
    while (RunJob(self.job)) {
    }
  } while (AwaitJob(pool, self));
  return nullptr;
}

void Pool::Start(const Job& job) {
  threads.emplace_back();
  CallbackThread& thread = threads.back();
  thread.self = std::prev(threads.end());
  thread.job = job;
  if (StartThread(&thread.thread, "belay-call", &CallbackMain, &thread)) {
    ++staying;
    return;
  }
  threads.pop_back();
  Fail(codes::kRtResourceAllocFail, "no-callback-thread",
       "no thread could be started for a callback; raise the limit on processes (ulimit -u)");
}

void Pool::Unlink(const CallbackThread& thread) {
  for (CallbackThread** link = &idle; *link != nullptr; link = &(*link)->next_idle) {
    if (*link != &thread) continue;
    *link = thread.next_idle;
    return;
  }
}

}  // namespace

CallbackScope::CallbackScope(bool awaited) : awaited_(awaited) { ++t_depth, t_awaited += awaited_; }
CallbackScope::~CallbackScope() { --t_depth, t_awaited -= awaited_; }
bool InCallback() { return t_depth > 0; }
bool InAwaitedCallback() { return t_awaited > 0; }
void SetCallbackIdleTime(int64_t ns) { g_idle_ns.store(ns); }

void RunOnCallbackThread(HostFunction function, void* argument, void (*done)(void*), void* context) {
  Pool& pool = PerProcess<Pool>::Get();
  Job job{function, argument, done, context};
  std::lock_guard guard(pool.lock);
  CallbackThread* thread = pool.idle;
  if (thread == nullptr) return pool.Start(job);
  pool.idle = thread->next_idle;
  thread->job = job;
  thread->called.notify_one();
}

void NeedCallbackThread() {
  Pool& pool = PerProcess<Pool>::Get();
  std::lock_guard guard(pool.lock);
  if (pool.threads.empty()) pool.Start({});
}

void EndCallbackThreads() {
  Pool& pool = PerProcess<Pool>::Get();
  std::list<CallbackThread> ended;
  {
    std::unique_lock guard(pool.lock);
    pool.ending = true;
    for (CallbackThread* thread = pool.idle; thread != nullptr; thread = thread->next_idle) {
      thread->called.notify_one();
    }
    size_t stay = t_is_callback_thread ? 1 : 0;
    pool.gone.wait(guard, [&] { return pool.threads.size() <= stay; });
    pool.ending = false;
    ended.swap(pool.ended);
  }
  JoinThreads(ended);
}

void TellOnCallbackThread(HostFunction function, void* argument) {
  std::binary_semaphore told{0};
  try {
    auto done = [](void* context) { static_cast<std::binary_semaphore*>(context)->release(); };
    RunOnCallbackThread(function, argument, done, &told);
  } catch (const std::exception&) {  // no memory, or no thread
    CallbackScope scope;
    return function(argument);
  }
  told.acquire();
}

}  // namespace belay::rt
