#include "api/error_trail.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

#include "api/names.h"
#include "base/clock.h"
#include "base/fork.h"

namespace belay::api {
namespace {

constexpr size_t kMost = 64;  // texts kept; older ones are lost, as the page says they may be

struct Trail {
  std::deque<std::string> texts;  // newest first
  void Push(std::string text) {
    texts.push_front(std::move(text));
    if (texts.size() > kMost) texts.pop_back();
  }
};

struct ThreadState {
  Trail trail;
  std::string taken;
  int last_error = 0;
};

// Not a thread_local object: those of the first thread are destroyed before the destructors of static
// objects run, which may call functions of the interface too.
constinit thread_local ThreadState* t_state = nullptr;

pthread_key_t MakeKey() {
  pthread_key_t key;
  pthread_key_create(&key, [](void* state) {
    t_state = nullptr;
    delete static_cast<ThreadState*>(state);
  });
  return key;
}

ThreadState& Mine() {
  static const pthread_key_t key = MakeKey();
  if (t_state == nullptr) {
    t_state = new ThreadState;
    pthread_setspecific(key, t_state);
  }
  return *t_state;
}

struct ProcessTrail {
  std::mutex lock;
  Trail trail;
};
ProcessTrail& Shared() { return PerProcess<ProcessTrail>::Get(); }
std::atomic<bool> g_per_process{false};

// The family that log readers know: EE runtime, EH interface, EZ operators; x9999 internal.
const char* Family(int code) {
  switch (code / 1000) {
    case 161:
      return "EZ1001";
    case 361:
    case 561:
      return "EZ9999";
    case 500:
    case 507:
      return "EE9999";
    case 200:
    case 207:
      return "EL0004";
    case 107:
      return "EE1001";
    default:
      return "EH0001";
  }
}

}  // namespace

std::string FormatError(int code, const char* function, const char* id, const std::string& sentence) {
  const char* name = ErrorName(code);
  return fmt::format("{}: [PID: {}] {} {} failed: {}.\n        Error code: {}{}{}{} [{}]\n", Family(code),
                     getpid(), WallTime(), function, sentence, code, name == nullptr ? "" : " (",
                     name == nullptr ? "" : name, name == nullptr ? "" : ")", id);
}

void PushError(int code, std::string text) {
  ThreadState& mine = Mine();
  mine.last_error = code;
  if (!g_per_process.load(std::memory_order_relaxed)) {
    mine.trail.Push(std::move(text));
    return;
  }
  std::lock_guard guard(Shared().lock);
  Shared().trail.Push(std::move(text));
}

const char* TakeErrors() {
  ThreadState& mine = Mine();
  std::deque<std::string> texts;
  if (g_per_process.load(std::memory_order_relaxed)) {
    std::lock_guard guard(Shared().lock);
    texts.swap(Shared().trail.texts);
  } else {
    texts.swap(mine.trail.texts);
  }
  mine.taken.clear();
  for (const std::string& text : texts) mine.taken += text;
  return texts.empty() ? nullptr : mine.taken.c_str();
}

void KeepErrorsPerProcess(bool process) { g_per_process.store(process); }

int LastError() { return Mine().last_error; }
int TakeLastError() { return std::exchange(Mine().last_error, 0); }

}  // namespace belay::api
