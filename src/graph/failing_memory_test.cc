#include "graph/failing_memory.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/sanitizer.h"

namespace belay::graph {
namespace {

enum class Mode { kOff, kCount, kFailAt, kFailOthers };
constinit std::atomic<Mode> g_mode{Mode::kOff};
constinit std::atomic<int64_t> g_count{0};
constinit std::atomic<int64_t> g_fail_at{-1};
constinit std::atomic<size_t> g_largest{0};
constinit std::atomic<bool> g_failed{false};
constinit thread_local bool t_spared = false;

bool Refuse() {
  g_failed = true;
  return true;
}

[[maybe_unused]] bool Refuses(size_t bytes) {
  switch (g_mode.load(std::memory_order_relaxed)) {
    case Mode::kOff:
      return false;
    case Mode::kCount:
      ++g_count;
      if (bytes > g_largest) g_largest = bytes;
      return false;
    case Mode::kFailAt:
      return g_count++ == g_fail_at.load() && Refuse();
    case Mode::kFailOthers:
      return !t_spared && Refuse();
  }
  return false;
}

}  // namespace

void FailingMemory::Count() {
  g_count = 0;
  g_largest = 0;
  g_mode = Mode::kCount;
}
int64_t FailingMemory::counted() {
  g_mode = Mode::kOff;
  return g_count;
}
size_t FailingMemory::largest() {
  g_mode = Mode::kOff;
  return g_largest;
}
void FailingMemory::FailAt(int64_t number) {
  g_count = 0;
  g_fail_at = number;
  g_failed = false;
  g_mode = Mode::kFailAt;
}
void FailingMemory::FailOnOtherThreads() {
  t_spared = true;
  g_failed = false;
  g_mode = Mode::kFailOthers;
}
bool FailingMemory::Disarm() {
  g_mode = Mode::kOff;
  return g_failed;
}

}  // namespace belay::graph

// A sanitizer has its own, which libraries beside this program use, too.
#if !defined(BELAY_ASAN) && !defined(BELAY_TSAN)
void* operator new(size_t bytes) {
  if (belay::graph::Refuses(bytes)) throw std::bad_alloc();
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
#endif
