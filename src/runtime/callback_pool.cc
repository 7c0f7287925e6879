#include "runtime/callback_pool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>

#include "base/error.h"
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

// Immortal: callback threads may outlive main.
Pool*& ThePool() {
  static auto* pool = new Pool;
  return pool;
}

constinit thread_local int t_depth = 0;

void* CallbackMain(void*) {
  Pool& pool = *ThePool();
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
      CallbackScope scope;
      job.function(job.argument);
    }
    job.done(job.context);
    guard.lock();
  }
}

}  // namespace

CallbackScope::CallbackScope() { ++t_depth; }
CallbackScope::~CallbackScope() { --t_depth; }
bool InCallback() { return t_depth > 0; }

void RunOnCallbackThread(HostFunction function, void* argument, void (*done)(void*), void* context) {
  Pool& pool = *ThePool();
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

void AbandonCallbacksInChild() { ThePool() = new Pool; }

}  // namespace belay::rt
