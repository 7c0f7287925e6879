// An arena: the memory of one device, or the pinned host memory. It hands out blocks of its part of
// the address space and keeps freed ones for the next request of their size class.
//
//   allocate, reused   one spin lock of the size class, two atomic additions
//   free               the same; the page's entry names the class, so there is nothing to search
//   first use          carves pages under the arena's lock
//
// Capacity is charged when a block is allocated, by its padded size. Cached blocks keep their memory until
// capacity is needed for other sizes (Trim), or more is cached than was live at a time lately and than 256
// MiB (Shrink). So a program that does the same again and again finds all its blocks cached, and one whose
// blocks are never of the same size holds about twice what it needs, not all that it ever had.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "base/spin_lock.h"
#include "runtime/arena_pages.h"
#include "runtime/arena_ranges.h"
#include "runtime/observer.h"

namespace belay::rt {

// The blocks of one small class on one page. A set bit is a free block.
struct Slab {
  uint32_t page;
  uint16_t blocks;
  uint16_t free;
  uint64_t bits[kPageBytes / kBlockAlignment / 64];
  Slab* next;  // in its bin's list of slabs with free blocks
  Slab* previous;
};

class Arena {
 public:
  // `first` and `count`: its pages of `space`. Page `first` is a multiple of a huge page.
  Arena(AddressSpace* space, uint32_t first, uint32_t count, MemoryKind kind, int device, size_t capacity);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // A block of `bytes` (not 0), or null when capacity or addresses are used up.
  void* Allocate(size_t bytes, Padding padding, bool huge_pages);

  // Frees the live block that starts at `block`. False when another thread freed it first, or it is
  // not the start of a live block of this arena. Without `reuse` its bytes rest until Reuse.
  bool Free(uintptr_t block, bool reuse = true, FreedBy why = FreedBy::kCall);
  void Reuse(uintptr_t block);

  // Frees every block that is left and gives all memory back.
  void Clear();

  // Takes capacity without a block: physical memory for virtual addresses.
  bool Charge(size_t bytes);
  void Uncharge(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  int device() const { return device_; }
  size_t capacity() const { return capacity_; }
  size_t used() const { return used_.load(std::memory_order_relaxed); }
  size_t most_used() const { return most_used_.load(std::memory_order_relaxed); }
  // Why the system last refused to open addresses (an errno), 0 when it did not.
  int refusal() const { return refusal_.load(std::memory_order_relaxed); }
  size_t cached() const { return cached_.load(std::memory_order_relaxed); }
  static constexpr size_t kLeastKept = size_t{256} << 20;

  struct LiveBlock {
    uintptr_t address;
    size_t bytes;
    uint64_t serial;
  };
  // The largest live blocks of their own pages, for the message of a failed allocation.
  std::vector<LiveBlock> LargestBlocks(size_t how_many);

  // In a forked child, which does not have these addresses any more: other mappings may come to lie
  // there, so what was poisoned is not.
  void ForgetAfterFork();

 private:
  // The free blocks of one size class; on a cache line of its own.
  struct alignas(64) Bin {
    SpinLock lock;
    uint32_t run = kNoPage;  // large: first page of the first cached run
    uint64_t used_at = 0;    // large: what freed_ was when a run was taken or put last
    Slab* slabs = nullptr;   // small: slabs with a free block
  };
  static constexpr uint32_t kNoPage = ~0u;

  uintptr_t TakeSmall(SizeClass c);
  uintptr_t TakeLarge(SizeClass c);
  uintptr_t TakeFromSlab(Bin& bin, SizeClass c);
  uintptr_t Carve(SizeClass c);
  Slab* NewSlab(SizeClass c, uint32_t page);
  void Put(SizeClass c, uint32_t page, uintptr_t block);
  void PutSmall(SizeClass c, uint32_t page, uintptr_t block);
  void PutLarge(SizeClass c, uint32_t page);
  bool GrowTo(uint32_t end);
  // Gives the memory and addresses of cached blocks back; the caller holds lock_.
  void Trim();
  void TrimSlabs(Bin& bin);
  bool KeepsTooMuch() const;
  void NoteLargeFree(size_t bytes, size_t rounding);
  void Shrink();
  Bin* StalestBin(SizeClass* c);
  void GiveBack(uint32_t first, uint32_t count);
  void Link(Bin& bin, Slab* slab);
  void Unlink(Bin& bin, Slab* slab);
  Block BlockAt(uintptr_t base, size_t bytes, uint64_t serial) const;
  void PoisonBlock(uintptr_t block, size_t bytes);
  void UnpoisonBlock(uintptr_t block, size_t bytes);

  struct PageLink {  // beside the page table, for the arena's own use
    union {
      Slab* slab;
      uint32_t next_run;
    };
  };
  PageLink& link(uint32_t page) { return links_[page - first_]; }

  AddressSpace& space_;
  const uint32_t first_;
  const uint32_t end_;
  const MemoryKind kind_;
  const int device_;
  const size_t capacity_;
  alignas(64) std::atomic<size_t> used_{0};
  std::atomic<size_t> cached_{0};
  std::atomic<size_t> most_used_{0};
  // What was live at most in this span of frees and in the one before. A span is over when so much has been
  // freed that a program which repeats its steps has made several.
  std::atomic<size_t> rounding_{0};  // what live large blocks have beyond what is charged
  std::atomic<size_t> peak_{0};
  std::atomic<size_t> last_peak_{0};
  std::atomic<uint64_t> freed_{0};  // bytes of large blocks
  std::atomic<uint64_t> span_end_{0};
  std::atomic<int> refusal_{0};
  std::mutex lock_;
  uint32_t grown_;  // pages below are readable and writable
  FreeRanges ranges_;
  std::deque<Slab> slabs_;
  Slab* spare_slabs_ = nullptr;  // linked by next
  PageLink* links_ = nullptr;
  Bin bins_[kClasses];
};

}  // namespace belay::rt
