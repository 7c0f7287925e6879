// Preloaded into the interpreter that runs short_memory.py: the host's memory, watched and made to run out
// while the second stage of one function and its task run. Malloc and its kin pass here, and with them the
// C++ libraries; the interpreter's own calls do not happen in that time.
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

namespace {

constinit std::atomic<bool> g_watched{false};
constinit std::atomic<int64_t> g_count{0}, g_live{0}, g_most{0}, g_first{INT64_MAX}, g_last{0};
constinit thread_local bool t_caller = false, t_deciding = false;

// OpenMP's runtime ends the process when it has no memory for its few words (single_threaded.h sees to it
// that there is some, which cannot be seen here), and oneDNN reads what it has not got: what they ask for is
// there.
bool IsNotOurs() {
  void* frames[10];
  const int count = backtrace(frames, 10);
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr) continue;
    if (strstr(info.dli_fname, "libgomp") != nullptr || strstr(info.dli_fname, "libdnnl") != nullptr)
      return true;
  }
  return false;
}

bool Fails() {
  if (!g_watched.load(std::memory_order_relaxed)) return false;
  const int64_t number = g_count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number < g_first.load() || number > g_last.load() || t_deciding) return false;
  t_deciding = true;
  const bool spared = IsNotOurs();
  t_deciding = false;
  if (spared) return false;
  errno = ENOMEM;
  return true;
}

void* Taken(void* block) {
  // What the caller's own thread keeps of the call is not the task's.
  if (block == nullptr || !g_watched.load(std::memory_order_relaxed) || t_caller) return block;
  const auto bytes = static_cast<int64_t>(malloc_usable_size(block));
  const int64_t live = g_live.fetch_add(bytes) + bytes;
  int64_t most = g_most.load();
  while (live > most && !g_most.compare_exchange_weak(most, live)) {
  }
  return block;
}

void GivenBack(void* block) {
  if (block == nullptr || !g_watched.load(std::memory_order_relaxed) || t_caller) return;
  g_live.fetch_sub(static_cast<int64_t>(malloc_usable_size(block)));
}

}  // namespace

#include "support/malloc_taken_over.h"

extern "C" {

struct ShortMemorySeen {
  int64_t allocations, most_bytes;  // of all threads; held at a time by other threads than the caller's
  int second, synchronise;          // the codes
};

// The second stage and the wait for it, with allocations [first, last] of that time failing.
void short_memory_run(int (*second)(void*, uint64_t, void*, void*), int (*synchronise)(void*),
                      void* workspace, uint64_t size, void* executor, void* stream, int64_t first,
                      int64_t last, ShortMemorySeen* seen) {
  static void* frame;
  static const int loads_the_unwinder = backtrace(&frame, 1);
  (void)loads_the_unwinder;
  g_count = 0, g_live = 0, g_most = 0, g_first = first, g_last = last;
  t_caller = true;
  g_watched = true;
  seen->second = second(workspace, size, executor, stream);
  seen->synchronise = synchronise(stream);
  g_watched = false;
  t_caller = false;
  seen->allocations = g_count;
  seen->most_bytes = g_most;
}

}  // extern "C"
