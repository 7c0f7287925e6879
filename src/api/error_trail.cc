#include "api/error_trail.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
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
};

// What needs no memory: the latest code, and the errors that there was no memory to tell of.
struct Untold {
  int last_error = 0;
  int count = 0;
  int code = 0;  // of the latest of them, which this function gave
  const char* function = "";
  const char* id = "";
};
constinit thread_local Untold t_untold;
constexpr const char* kNoMemory =
    "EL0004: host memory ran out for the texts of errors; free some and ask again\n";

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
    auto made = std::make_unique<ThreadState>();
    if (pthread_setspecific(key, made.get()) != 0) throw std::bad_alloc();
    t_state = made.release();
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

std::string FormatError(int code, const char* function, const char* id, std::string_view sentence) {
  const char* name = ErrorName(code);
  return fmt::format("{}: [PID: {}] {} {} failed: {}.\n        Error code: {}{}{}{} [{}]\n", Family(code),
                     getpid(), WallTime(), function, sentence, code, name == nullptr ? "" : " (",
                     name == nullptr ? "" : name, name == nullptr ? "" : ")", id);
}

namespace {

void Push(std::string text) {
  if (!g_per_process.load(std::memory_order_relaxed)) {
    Mine().trail.Push(std::move(text));
    return;
  }
  std::lock_guard guard(Shared().lock);
  Shared().trail.Push(std::move(text));
}

// The texts of a trail, and what could not be told. Only once they are put together do they leave it.
std::string Take(Trail& trail) {
  std::string all;
  if (t_untold.count > 0) {
    all = fmt::format(
        "EL0004: there was no host memory for {} text{} of errors, the latest: {} gave {} [{}]\n",
        t_untold.count, t_untold.count == 1 ? "" : "s", t_untold.function, t_untold.code, t_untold.id);
  }
  for (const std::string& text : trail.texts) all += text;
  trail.texts.clear();
  t_untold.count = 0;
  return all;
}

}  // namespace

void TellError(int code, const char* function, const char* id, std::string_view sentence) noexcept {
  t_untold.last_error = code;
  try {
    Push(FormatError(code, function, id, sentence));
  } catch (...) {
    ++t_untold.count;
    t_untold.code = code;
    t_untold.function = function;
    t_untold.id = id;
  }
}

const char* TakeErrors() noexcept {
  try {
    ThreadState& mine = Mine();
    if (g_per_process.load(std::memory_order_relaxed)) {
      std::lock_guard guard(Shared().lock);
      mine.taken = Take(Shared().trail);
    } else {
      mine.taken = Take(mine.trail);
    }
    return mine.taken.empty() ? nullptr : mine.taken.c_str();
  } catch (...) {
    return kNoMemory;
  }
}

void KeepErrorsPerProcess(bool process) { g_per_process.store(process); }

int LastError() noexcept { return t_untold.last_error; }
int TakeLastError() noexcept { return std::exchange(t_untold.last_error, 0); }

}  // namespace belay::api
