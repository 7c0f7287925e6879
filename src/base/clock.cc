#include "base/clock.h"

#include <atomic>

namespace belay {
namespace {
std::atomic<int64_t> g_start_ns{0};
std::atomic<uint64_t> g_start_ticks{0};
}  // namespace

void StartClock() {
  if (g_start_ns.load(std::memory_order_relaxed) != 0) return;
  g_start_ticks.store(Ticks(), std::memory_order_relaxed);
  g_start_ns.store(NowNs(), std::memory_order_relaxed);
}

double TicksToNs(uint64_t ticks) {
  StartClock();
  int64_t ns = NowNs() - g_start_ns.load(std::memory_order_relaxed);
  // The longer the base, the better the rate: a millisecond gives about 4 digits.
  while (ns < 1'000'000) ns = NowNs() - g_start_ns.load(std::memory_order_relaxed);
  uint64_t base = Ticks() - g_start_ticks.load(std::memory_order_relaxed);
  return static_cast<double>(ticks) * static_cast<double>(ns) / static_cast<double>(base);
}

int64_t TickTimeNs(uint64_t ticks) {
  static const double rate = TicksToNs(1'000'000'000) / 1e9;
  auto since = static_cast<int64_t>(ticks - g_start_ticks.load(std::memory_order_relaxed));
  return g_start_ns.load(std::memory_order_relaxed) + static_cast<int64_t>(since * rate);
}

}  // namespace belay
