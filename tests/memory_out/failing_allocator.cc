#include "failing_allocator.h"

#include <errno.h>
#include <execinfo.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <utility>

#include "support/called_from.h"

namespace memory_out {
namespace {

constexpr int64_t kNever = INT64_MAX;

constinit std::atomic<int64_t> g_count{0};
constinit std::atomic<int64_t> g_first{kNever};
constinit std::atomic<int64_t> g_last{kNever};
constinit std::atomic<bool> g_failed{false};
constinit std::atomic<int64_t> g_live{0};
constinit rlim_t g_address_space = 0;  // before it was taken away; 0: it is not
constinit bool g_spares = false;
constinit thread_local int t_exempt = 0;

constexpr int kMostFrames = 48;
constinit void* g_frames[kMostFrames] = {};
constinit int g_frame_count = 0;

bool IsSpared() {
  ++t_exempt;
  const bool found = IsCalledFrom({"libdnnl", "libgomp", "ld-linux"});
  --t_exempt;
  return found;
}

bool Fails() {
  if (g_first.load(std::memory_order_relaxed) == kNever || t_exempt > 0) return false;
  int64_t number = g_count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number < g_first.load(std::memory_order_relaxed) || number > g_last.load(std::memory_order_relaxed)) {
    return false;
  }
  if (g_spares && IsSpared()) return false;
  if (!g_failed.exchange(true)) {
    ++t_exempt;
    g_frame_count = backtrace(g_frames, kMostFrames);
    --t_exempt;
  }
  errno = ENOMEM;
  return true;
}

void* Taken(void* block) {
  if (block != nullptr) g_live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void GivenBack(void* block) {
  if (block != nullptr) g_live.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

void Arm(int64_t n, Mode mode) {
  static const int loads_the_unwinder = backtrace(g_frames, 1);
  (void)loads_the_unwinder;
  g_failed = false;
  g_frame_count = 0;
  g_count = 0;
  g_last = mode == Mode::kOne ? n : kNever;
  g_first = n;
}

void SpareOneDnn() { g_spares = true; }

void ArmAddressSpace(int64_t bytes) {
  FILE* file = std::fopen("/proc/self/statm", "r");
  int64_t pages = 0;
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) std::abort();
  std::fclose(file);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  g_address_space = limit.rlim_cur;
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + bytes));
  g_failed = true;
  setrlimit(RLIMIT_AS, &limit);
}

bool Disarm() {
  if (g_address_space != 0) {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = std::exchange(g_address_space, 0);
    setrlimit(RLIMIT_AS, &limit);
  }
  g_first = kNever;
  return g_failed;
}

bool Armed() { return g_first.load() != kNever; }
int64_t Asked() { return g_count.load(); }
bool HasFailed() { return g_failed.load(); }

Exempt::Exempt() { ++t_exempt; }
Exempt::~Exempt() { --t_exempt; }

int64_t LiveBlocks() { return g_live.load(); }

void PrintWhereItFailed() { backtrace_symbols_fd(g_frames, g_frame_count, STDERR_FILENO); }

}  // namespace memory_out

using memory_out::Fails;
using memory_out::GivenBack;
using memory_out::Taken;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void* operator new(size_t bytes) {
  void* block = Fails() ? nullptr : malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return Taken(block);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  void* block = nullptr;
  if (Fails() || posix_memalign(&block, static_cast<size_t>(alignment), bytes) != 0) throw std::bad_alloc();
  return Taken(block);
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return Fails() ? nullptr : Taken(malloc(bytes));
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new[](size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
void* operator new[](size_t bytes, const std::nothrow_t& tag) noexcept { return operator new(bytes, tag); }
void operator delete(void* block) noexcept {
  GivenBack(block);
  free(block);
}
void operator delete(void* block, size_t) noexcept { operator delete(block); }
void operator delete(void* block, std::align_val_t) noexcept { operator delete(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { operator delete(block); }
void operator delete[](void* block) noexcept { operator delete(block); }
void operator delete[](void* block, size_t) noexcept { operator delete(block); }
void operator delete[](void* block, std::align_val_t) noexcept { operator delete(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { operator delete(block); }

#else

#include "support/malloc_taken_over.h"

#pragma GCC visibility push(default)  // libraries take it from here
extern "C" {
void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (Fails()) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
}
#pragma GCC visibility pop

#endif
