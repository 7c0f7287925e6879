#include "base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace belay {
namespace {

std::atomic<size_t> g_limit{0};

}  // namespace

size_t MemoryLimit() {
  if (size_t limit = g_limit.load(std::memory_order_relaxed); limit != 0) return limit;
  auto pages = static_cast<size_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  size_t half = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 2;
  SetMemoryLimit(half);
  return half;
}

void SetMemoryLimit(size_t bytes) { g_limit.store(bytes, std::memory_order_relaxed); }

}  // namespace belay
