#include "runtime/callback_pool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <semaphore>

#include "base/error.h"
#include "base/fork.h"
#include "base/thread.h"

namespace belay::rt {
namespace {

struct Job {
  HostFunction function;
  void* argument;
  void (*done)(void*);
  void* context;
};

struct Pool {
  std::mutex lock;
  std::condition_variable more;
  std::deque<Job> jobs;
  int idle = 0;
};

constinit thread_local int t_depth = 0;

// A child that was forked by a callback runs none itself.
[[maybe_unused]] const bool g_at_fork = AtForkInChild([] { t_depth = 0; });

// The stream goes on also when the function ends its thread (pthread_exit, pthread_cancel).
struct Completion {
  const Job& job;
  ~Completion() { job.done(job.context); }
};

void* CallbackMain(void*) {
  Pool& pool = PerProcess<Pool>::Get();
  std::unique_lock guard(pool.lock);
  for (;;) {
    while (pool.jobs.empty()) {
      ++pool.idle;
      pool.more.wait(guard);
      --pool.idle;
    }
    Job job = pool.jobs.front();
    pool.jobs.pop_front();
    guard.unlock();
    {
      Completion completion{job};
      CallbackScope scope;
      job.function(job.argument);
    }
    guard.lock();
  }
}

}  // namespace

CallbackScope::CallbackScope() { ++t_depth; }
CallbackScope::~CallbackScope() { --t_depth; }
bool InCallback() { return t_depth > 0; }

void RunOnCallbackThread(HostFunction function, void* argument, void (*done)(void*), void* context) {
  Pool& pool = PerProcess<Pool>::Get();
  std::lock_guard guard(pool.lock);
  pool.jobs.push_back({function, argument, done, context});
  if (static_cast<size_t>(pool.idle) >= pool.jobs.size()) {
    pool.more.notify_one();
    return;
  }
  pthread_t thread;
  if (StartThread(&thread, "belay-call", &CallbackMain, nullptr)) {
    pthread_detach(thread);
  } else if (pool.idle == 0) {
    pool.jobs.pop_back();
    Fail(207005, "no-callback-thread",
         "no thread could be started for a callback; raise the limit on processes (ulimit -u)");
  } else {
    pool.more.notify_one();
  }
}

void TellOnCallbackThread(HostFunction function, void* argument) {
  std::binary_semaphore told{0};
  try {
    auto done = [](void* context) { static_cast<std::binary_semaphore*>(context)->release(); };
    RunOnCallbackThread(function, argument, done, &told);
  } catch (const Error&) {
    CallbackScope scope;
    return function(argument);
  }
  told.acquire();
}

}  // namespace belay::rt
