#include "runtime/memory_registered.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/codes.h"
#include "base/error.h"
#include "base/spin_lock.h"
#include "runtime/codes.h"
#include "runtime/memory_state.h"
#include "runtime/observer.h"

namespace belay::rt {

// The number of ranges that start at or below `address`.
uint32_t RegisteredRanges::FirstAbove(uintptr_t address) const {
  uint32_t low = 0;
  uint32_t high = count_.load(std::memory_order_acquire);
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (slots_[middle].base.load(std::memory_order_acquire) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void RegisteredRanges::Move(uint32_t from, uint32_t to) {
  slots_[to].base.store(slots_[from].base.load(std::memory_order_relaxed), std::memory_order_release);
  slots_[to].bytes.store(slots_[from].bytes.load(std::memory_order_relaxed), std::memory_order_release);
  slots_[to].flags.store(slots_[from].flags.load(std::memory_order_relaxed), std::memory_order_release);
}

RegisteredRanges::Added RegisteredRanges::Add(const RegisteredRange& range) {
  std::lock_guard guard(lock_);
  uint32_t count = count_.load(std::memory_order_relaxed);
  if (count == kMax) return Added::kFull;
  uint32_t at = FirstAbove(range.base);
  if (at > 0) {
    uintptr_t before = slots_[at - 1].base.load(std::memory_order_relaxed);
    if (range.base - before < slots_[at - 1].bytes.load(std::memory_order_relaxed)) {
      return Added::kOverlaps;
    }
  }
  if (at < count && slots_[at].base.load(std::memory_order_relaxed) - range.base < range.bytes) {
    return Added::kOverlaps;
  }
  version_.fetch_add(1, std::memory_order_acq_rel);
  for (uint32_t i = count; i > at; --i) Move(i - 1, i);
  slots_[at].base.store(range.base, std::memory_order_release);
  slots_[at].bytes.store(range.bytes, std::memory_order_release);
  slots_[at].flags.store(range.flags, std::memory_order_release);
  count_.store(count + 1, std::memory_order_release);
  version_.fetch_add(1, std::memory_order_release);
  return Added::kYes;
}

bool RegisteredRanges::Remove(uintptr_t base) {
  std::lock_guard guard(lock_);
  uint32_t count = count_.load(std::memory_order_relaxed);
  uint32_t at = FirstAbove(base);
  if (at == 0 || slots_[at - 1].base.load(std::memory_order_relaxed) != base) return false;
  version_.fetch_add(1, std::memory_order_acq_rel);
  for (uint32_t i = at; i < count; ++i) Move(i, i - 1);
  count_.store(count - 1, std::memory_order_release);
  version_.fetch_add(1, std::memory_order_release);
  return true;
}

RegisteredRange RegisteredRanges::Find(uintptr_t address) const noexcept {
  for (;;) {
    uint64_t before = version_.load(std::memory_order_acquire);
    RegisteredRange found;
    if (uint32_t at = FirstAbove(address); at > 0) {
      const Slot& slot = slots_[at - 1];
      found = {slot.base.load(std::memory_order_acquire), slot.bytes.load(std::memory_order_acquire),
               slot.flags.load(std::memory_order_acquire)};
    }
    // Every load above is an acquire, so this one cannot be made before them.
    if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before) {
      return address - found.base < found.bytes ? found : RegisteredRange{};
    }
    CpuRelax();
  }
}

void RegisteredRanges::Clear() {
  new (&lock_) std::mutex();
  version_.store(0, std::memory_order_relaxed);
  count_.store(0, std::memory_order_release);
}

// --- the ranges of this process

namespace {
constexpr size_t kAlignment = 4096;

// Whether there is memory at every page. Where the system does not tell there is.
bool IsMapped(void* p, size_t bytes) {
  unsigned char in_core[4096];
  constexpr size_t kStep = sizeof in_core * kAlignment;  // pages are this large or larger
  for (size_t at = 0; at < bytes; at += kStep) {
    size_t part = std::min(bytes - at, kStep);
    if (mincore(static_cast<std::byte*>(p) + at, part, in_core) != 0 && errno == ENOMEM) return false;
  }
  return true;
}

}  // namespace

void RegisterHost(void* p, size_t bytes, uint32_t flags) {
  auto address = reinterpret_cast<uintptr_t>(p);
  if (bytes == 0) Fail(kBadArgument, "memory-size-zero", "0 bytes of host memory at {}", p);
  if (address % kAlignment != 0) {
    Fail(kBadArgument, "register-unaligned", "{} is not a multiple of {} bytes", p, kAlignment);
  }
  MemoryRange range = CheckRange(p, bytes, "ptr");
  if (range.kind == MemoryKind::kDevice) {
    Fail(kBadArgument, "register-device-memory", "{} is not host memory", DescribeAddress(p));
  }
  if (!IsMapped(p, bytes)) {
    Fail(kBadArgument, "memory-not-an-address",
         "ptr is {}: {} bytes from there are not memory of this process, some of them are not mapped", p,
         bytes);
  }
  switch (g_registered.Add({address, bytes, flags})) {
    case RegisteredRanges::Added::kYes:
      if (Observers::any()) [[unlikely]]
        TellAllocated({BlockKind::kRegistered, -1, address, bytes, 0, 0});
      return;
    case RegisteredRanges::Added::kOverlaps:
      Fail(kBadArgument, "register-twice", "a part of [{}, +{}) is registered already", p, bytes);
    case RegisteredRanges::Added::kFull:
      Fail(codes::kRtMemoryAllocation, "register-too-many", "too many ranges of host memory are registered");
  }
}

void UnregisterHost(void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  const size_t bytes = g_registered.Find(address).bytes;
  if (g_registered.Remove(address)) {
    if (Observers::any()) [[unlikely]]
      TellFreed({BlockKind::kRegistered, -1, address, bytes, 0, 0}, FreedBy::kCall);
    return;
  }
  Fail(kBadArgument, "register-not-found",
       "no range of host memory that starts at {} is registered (or it was unregistered already)", p);
}

RegisteredRange FindRegistered(const void* p) noexcept {
  return g_registered.Find(reinterpret_cast<uintptr_t>(p));
}

}  // namespace belay::rt
