#include "weather.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

// The sanitizers bring their own of these functions.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CHAOS_INTERPOSES 1
#endif

namespace chaos {
namespace {

enum class Whose : uint8_t { kBelays, kOurs };
thread_local Whose t_whose = Whose::kBelays;
thread_local int t_inside = 0;

std::atomic<uint32_t> g_memory{0}, g_threads{0}, g_mappings{0};
std::atomic<uint64_t> g_draws{0};
std::atomic<uint64_t> g_lost_memory{0}, g_lost_threads{0}, g_lost_mappings{0}, g_signals{0};

// Without allocating: a number that looks random for each question.
bool Strikes(std::atomic<uint32_t>& of, uint64_t among, std::atomic<uint64_t>& count) {
  const uint32_t odds = of.load(std::memory_order_relaxed);
  if (odds == 0 || (t_whose == Whose::kOurs && t_inside == 0)) return false;
  uint64_t x = g_draws.fetch_add(1, std::memory_order_relaxed) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
  if ((x >> 32) % among >= odds) return false;
  count.fetch_add(1, std::memory_order_relaxed);
  return true;
}

[[maybe_unused]] bool MemoryFails() { return Strikes(g_memory, 1'000'000, g_lost_memory); }
[[maybe_unused]] bool ThreadFails() { return Strikes(g_threads, 1000, g_lost_threads); }
[[maybe_unused]] bool MappingFails() { return Strikes(g_mappings, 1000, g_lost_mappings); }

void SetLimit(int resource, rlim_t value) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  limit.rlim_cur = std::min(value, limit.rlim_max);
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

rlim_t HighestDescriptor() {
  rlim_t highest = 0;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 64;
  while (dirent* entry = readdir(folder))
    highest = std::max(highest, std::strtoul(entry->d_name, nullptr, 10));
  closedir(folder);
  return highest;
}

}  // namespace

Weather RandomWeather(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto one_in = [&](uint64_t n) { return random() % n == 0; };
  Weather weather;
  if (!one_in(3)) weather.memory = static_cast<uint32_t>(uint64_t{1} << (6 + random() % 10));
  if (one_in(2)) weather.threads = 50 + static_cast<uint32_t>(random() % 900);
  if (one_in(3)) weather.mappings = 10 + static_cast<uint32_t>(random() % 400);
  if (one_in(3)) weather.descriptors = 1 + static_cast<uint32_t>(random() % 12);
  if (one_in(3)) weather.file_bytes = 1 + random() % (1 << 20);
  if (one_in(2)) weather.signal_us = 200 + static_cast<int>(random() % 5000);
  return weather;
}

void SetWeather(const Weather& weather) {
  static const rlim_t descriptors = [] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    struct sigaction action {};
    action.sa_handler = [](int) { g_signals.fetch_add(1, std::memory_order_relaxed); };
    sigaction(SIGALRM, &action, nullptr);
    return limit.rlim_cur;
  }();
  SetLimit(RLIMIT_NOFILE,
           weather.descriptors == 0 ? descriptors : HighestDescriptor() + 1 + weather.descriptors);
  SetLimit(RLIMIT_FSIZE, weather.file_bytes == 0 ? RLIM_INFINITY : weather.file_bytes);
  const itimerval timer{{0, weather.signal_us}, {0, weather.signal_us}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  g_threads.store(weather.threads);
  g_mappings.store(weather.mappings);
  g_memory.store(weather.memory);
}

std::string Describe(const Weather& weather) {
  char text[200];
  std::snprintf(text, sizeof text,
                "allocations 1 in %u, threads %u and mappings %u in 1,000, descriptors %u, files %llu bytes, "
                "signals each %d us",
                weather.memory == 0 ? 0 : 1'000'000 / weather.memory, weather.threads, weather.mappings,
                weather.descriptors, static_cast<unsigned long long>(weather.file_bytes), weather.signal_us);
  return text;
}

Damage DamageSoFar() { return {g_lost_memory, g_lost_threads, g_lost_mappings, g_signals}; }

void MarkAsOurs() { t_whose = Whose::kOurs; }
Inside::Inside() { ++t_inside; }
Inside::~Inside() { --t_inside; }

}  // namespace chaos

#ifdef CHAOS_INTERPOSES
#pragma GCC visibility push(default)  // libraries take them from here
extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static void* OutOfMemory() {
  errno = ENOMEM;
  return nullptr;
}
void* malloc(size_t bytes) { return chaos::MemoryFails() ? OutOfMemory() : __libc_malloc(bytes); }
void* calloc(size_t n, size_t bytes) {
  return chaos::MemoryFails() ? OutOfMemory() : __libc_calloc(n, bytes);
}
void* realloc(void* old, size_t bytes) {
  return chaos::MemoryFails() ? OutOfMemory() : __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  return chaos::MemoryFails() ? OutOfMemory() : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** at, size_t alignment, size_t bytes) {
  void* got = memalign(alignment, bytes);
  if (got == nullptr) return ENOMEM;
  *at = got;
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return chaos::ThreadFails() ? EAGAIN : create(thread, attributes, run, argument);
}

void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  using Map = void* (*)(void*, size_t, int, int, int, off_t);
  static const auto map = reinterpret_cast<Map>(dlsym(RTLD_NEXT, "mmap"));
  if (!chaos::MappingFails()) return map(at, bytes, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

}  // extern "C"
#pragma GCC visibility pop
#endif
