// Preloaded into the interpreter that runs short_memory.py: the host's memory, watched and made to run out
// while the second stage of one function and its task run. Malloc and its kin pass here, and with them the
// C++ libraries; the interpreter's own calls do not happen in that time.
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <atomic>
#include <initializer_list>

#include "support/called_from.h"

namespace {

constinit std::atomic<bool> g_watched{false};
constinit std::atomic<int64_t> g_count{0}, g_first{INT64_MAX}, g_last{0};
constinit thread_local bool t_caller = false, t_deciding = false;

// Bytes that are held, now and at most.
struct Held {
  void Add(int64_t bytes) {
    const int64_t now = live.fetch_add(bytes) + bytes;
    int64_t before = most.load();
    while (now > before && !most.compare_exchange_weak(before, now)) {
    }
  }
  std::atomic<int64_t> live{0}, most{0};
};
constinit Held g_tasks, g_others;
constexpr uintptr_t kMostOfOthers = 1 << 13;
constinit std::atomic<void*> g_blocks_of_others[kMostOfOthers];

// Notes a block, or forgets it again; false: no room, or it was never noted.
bool Note(void* block, bool held) {
  constexpr uintptr_t kNear = 256;
  for (uintptr_t i = 0; i < kNear; ++i) {
    auto& place = g_blocks_of_others[(reinterpret_cast<uintptr_t>(block) / 16 + i) % kMostOfOthers];
    void* expected = held ? nullptr : block;
    if (place.compare_exchange_strong(expected, held ? block : nullptr)) return true;
  }
  return false;
}

// What is done to find out whether an allocation counts does not itself.
bool IsFrom(std::initializer_list<const char*> words) {
  t_deciding = true;
  const bool found = IsCalledFrom(words);
  t_deciding = false;
  return found;
}

// OpenMP's runtime ends the process when it has no memory for its few words (single_threaded.h sees to it
// that there is some, which cannot be seen here), and oneDNN reads what it has not got: what they ask for is
// there.
bool Fails() {
  if (!g_watched.load(std::memory_order_relaxed) || t_deciding) return false;
  const int64_t number = g_count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number < g_first.load() || number > g_last.load() || IsFrom({"libgomp", "libdnnl"})) return false;
  errno = ENOMEM;
  return true;
}

// What the caller's own thread keeps of the call is not the task's.
bool IsOfTask(const void* block) {
  return block != nullptr && g_watched.load(std::memory_order_relaxed) && !t_caller && !t_deciding;
}

void* Taken(void* block) {
  if (!IsOfTask(block)) return block;
  // libbelay_dnnl too, and what the dynamic linker keeps of it once it is loaded.
  const bool of_others = IsFrom({"dnnl", "/ld-linux"}) && Note(block, true);
  (of_others ? g_others : g_tasks).Add(static_cast<int64_t>(malloc_usable_size(block)));
  return block;
}

void GivenBack(void* block) {
  if (!IsOfTask(block)) return;
  (Note(block, false) ? g_others : g_tasks).Add(-static_cast<int64_t>(malloc_usable_size(block)));
}

}  // namespace

#include "support/malloc_taken_over.h"

extern "C" {

struct ShortMemorySeen {
  int64_t allocations;                 // of all threads
  int64_t most_bytes, most_of_others;  // held at a time by other threads than the caller's: Belay; others
  int second, synchronise;             // the codes
};

// The second stage and the wait for it, with allocations [first, last] of that time failing.
void short_memory_run(int (*second)(void*, uint64_t, void*, void*), int (*synchronise)(void*),
                      void* workspace, uint64_t size, void* executor, void* stream, int64_t first,
                      int64_t last, ShortMemorySeen* seen) {
  static void* frame;
  static const int loads_the_unwinder = backtrace(&frame, 1);
  (void)loads_the_unwinder;
  g_count = 0, g_first = first, g_last = last;
  for (Held* held : {&g_tasks, &g_others}) held->live = held->most = 0;
  for (auto& block : g_blocks_of_others) block = nullptr;
  t_caller = true;
  g_watched = true;
  seen->second = second(workspace, size, executor, stream);
  seen->synchronise = synchronise(stream);
  g_watched = false;
  t_caller = false;
  seen->allocations = g_count;
  seen->most_bytes = g_tasks.most;
  seen->most_of_others = g_others.most;
}

}  // extern "C"
