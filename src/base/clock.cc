#include "base/clock.h"

#include <fmt/format.h>

#include <atomic>

#include "base/fork.h"

namespace belay {
namespace {
std::atomic<int64_t> g_start_ns{0};
std::atomic<uint64_t> g_start_ticks{0};

constexpr int64_t kOffsetHolds = 600;  // seconds
std::atomic<int64_t> g_offset_read{0};
std::atomic<int64_t> g_offset{0};
// localtime takes a lock that a thread of the parent may have held: a forked child stays with the offset
// that the parent knew.
std::atomic<bool> g_forked{false};
[[maybe_unused]] const bool g_clock_at_fork = AtForkInChild([] { g_forked.store(true); });

int64_t OffsetFromUtc(int64_t now) {
  int64_t read = g_offset_read.load(std::memory_order_acquire);
  if (read != 0 && now - read < kOffsetHolds && now >= read) return g_offset.load(std::memory_order_relaxed);
  if (g_forked.load(std::memory_order_relaxed)) return g_offset.load(std::memory_order_relaxed);
  auto seconds = static_cast<time_t>(now);
  tm local;
  localtime_r(&seconds, &local);
  g_offset.store(local.tm_gmtoff, std::memory_order_relaxed);
  g_offset_read.store(now, std::memory_order_release);
  return local.tm_gmtoff;
}

struct Date {
  int64_t year;
  unsigned month, day;
};

// Days since 1970-01-01 to a date of the Gregorian calendar, counting in eras of 400 years from March on.
Date DateOf(int64_t days) {
  days += 719468;
  int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  auto day_of_era = static_cast<unsigned>(days - era * 146097);
  unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  unsigned from_march = (5 * day_of_year + 2) / 153;
  unsigned month = from_march < 10 ? from_march + 3 : from_march - 9;
  int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  return {year, month, day_of_year - (153 * from_march + 2) / 5 + 1};
}

}  // namespace

std::string WallTime() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t local = now.tv_sec + OffsetFromUtc(now.tv_sec);
  int64_t days = (local >= 0 ? local : local - 86399) / 86400;
  int64_t second = local - days * 86400;
  Date date = DateOf(days);
  return fmt::format("{:04}-{:02}-{:02}-{:02}:{:02}:{:02}.{:03}.{:03}", date.year, date.month, date.day,
                     second / 3600, second / 60 % 60, second % 60, now.tv_nsec / 1'000'000,
                     now.tv_nsec / 1000 % 1000);
}

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
