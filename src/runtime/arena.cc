#include "runtime/arena.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>

#include "base/room.h"
#include "runtime/arena_poison.h"
#include "runtime/observer.h"

namespace belay::rt {
namespace {

// Address space is opened in steps of this much, so that a wild pointer into the rest still faults.
constexpr uint32_t kGrowPages = (64u << 20) >> kPageShift;

// A span of frees is this many times what was live at most.
constexpr uint64_t kPeaksInSpan = 16;

constexpr size_t ClassBytes(SizeClass c) {
  return IsSmall(c) ? detail::kSmallBytes[c] : LargeClassPages(c) << kPageShift;
}

}  // namespace

Arena::Arena(AddressSpace* space, uint32_t first, uint32_t count, MemoryKind kind, int device,
             size_t capacity)
    : space_(*space),
      first_(first),
      end_(first + count),
      kind_(kind),
      device_(device),
      capacity_(capacity),
      grown_(first) {
  void* links = ReserveTable(sizeof(PageLink) * count);
  if (links == nullptr) throw std::bad_alloc();
  links_ = static_cast<PageLink*>(links);
}

bool Arena::Charge(size_t bytes) {
  size_t capacity = this->capacity();
  if (bytes > capacity) return false;
  size_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (used <= capacity) [[likely]] {
    size_t most = most_used_.load(std::memory_order_relaxed);
    while (used > most && !most_used_.compare_exchange_weak(most, used, std::memory_order_relaxed)) {
    }
    return true;
  }
  Uncharge(bytes);
  return false;
}

void* Arena::Allocate(size_t bytes, Padding padding, bool huge_pages) {
  if (bytes > capacity()) return nullptr;  // before the additions below can overflow
  size_t charged = Padded(bytes, padding);
  if (!Charge(charged)) return nullptr;
  Rollback uncharge([&] { Uncharge(charged); });
  size_t need = charged + kRedZone;
  SizeClass c =
      need <= kMaxSmallBytes ? SmallClassOf(need) : LargeClassOf((need + kPageBytes - 1) >> kPageShift);
  uintptr_t block = IsSmall(c) ? TakeSmall(c) : TakeLarge(c);
  if (block == 0) return nullptr;
  uncharge.Keep();
  if (!IsSmall(c)) rounding_.fetch_add(ClassBytes(c) - charged, std::memory_order_relaxed);
  UnpoisonBlock(block, kGrantPadding ? charged : bytes);
  BlockRecord& record = space_.record(block);
  record.size.store(BlockRecord::SizeWord(bytes, padding, huge_pages), std::memory_order_relaxed);
  const uint64_t serial = NextSerial();
  record.serial.store(serial, std::memory_order_release);
  if (Observers::any()) [[unlikely]]
    TellAllocated(BlockAt(block, bytes, serial));
  return reinterpret_cast<void*>(block);
}

inline void Arena::Put(SizeClass c, uint32_t page, uintptr_t block) {
  if (IsSmall(c)) {
    PutSmall(c, page, block);
  } else {
    PutLarge(c, page);
  }
}

Block Arena::BlockAt(uintptr_t base, size_t bytes, uint64_t serial) const {
  return {kind_ == MemoryKind::kDevice ? BlockKind::kDevice : BlockKind::kPinned,
          device_,
          base,
          bytes,
          serial,
          0};
}

bool Arena::Free(uintptr_t block, bool reuse, FreedBy why) {
  uint32_t page = space_.PageOf(block);
  PageEntry entry = space_.entry(page);
  if (entry.empty() || space_.BlockStart(block, entry) != block) return false;
  BlockRecord& record = space_.record(block);
  uint64_t serial = record.serial.load(std::memory_order_acquire);
  uint64_t size = record.size.load(std::memory_order_relaxed);
  if (serial % 2 == 0 ||
      !record.serial.compare_exchange_strong(serial, serial - 1, std::memory_order_acq_rel)) {
    return false;
  }
  CountFree();
  if (Observers::any()) [[unlikely]]
    TellFreed(BlockAt(block, BlockRecord::Requested(size), serial), why);
  SizeClass c = entry.size_class();
  PoisonBlock(block, ClassBytes(c));
  size_t charged = Padded(BlockRecord::Requested(size), BlockRecord::PaddingOf(size));
  if (!IsSmall(c)) NoteLargeFree(charged, ClassBytes(c) - charged);
  if (reuse) [[likely]]
    Put(c, page, block);
  Uncharge(charged);
  if (!IsSmall(c) && KeepsTooMuch()) [[unlikely]]
    Shrink();
  return true;
}

void Arena::Reuse(uintptr_t block) {
  uint32_t page = space_.PageOf(block);
  Put(space_.entry(page).size_class(), page, block);
}

// --- small blocks

void Arena::Link(Bin& bin, Slab* slab) {
  slab->previous = nullptr;
  slab->next = bin.slabs;
  if (bin.slabs != nullptr) bin.slabs->previous = slab;
  bin.slabs = slab;
}

void Arena::Unlink(Bin& bin, Slab* slab) {
  if (slab->next != nullptr) slab->next->previous = slab->previous;
  (slab->previous != nullptr ? slab->previous->next : bin.slabs) = slab->next;
}

uintptr_t Arena::TakeFromSlab(Bin& bin, SizeClass c) {
  Slab* slab = bin.slabs;
  if (slab == nullptr) return 0;
  uint32_t word = 0;
  while (slab->bits[word] == 0) ++word;
  uint32_t index = word * 64 + static_cast<uint32_t>(std::countr_zero(slab->bits[word]));
  slab->bits[word] &= slab->bits[word] - 1;
  if (slab->free == slab->blocks) cached_.fetch_sub(kPageBytes, std::memory_order_relaxed);
  if (--slab->free == 0) Unlink(bin, slab);
  return space_.AddressOf(slab->page) + uintptr_t{index} * detail::kSmallBytes[c];
}

uintptr_t Arena::TakeSmall(SizeClass c) {
  Bin& bin = bins_[c];
  {
    std::lock_guard guard(bin.lock);
    if (uintptr_t block = TakeFromSlab(bin, c)) return block;
  }
  std::lock_guard arena_guard(lock_);
  if (spare_slabs_ == nullptr) spare_slabs_ = &slabs_.emplace_back();  // while nothing has changed yet
  uintptr_t page = Carve(c);
  if (page == 0) return 0;
  Slab* slab = NewSlab(c, space_.PageOf(page));
  std::lock_guard guard(bin.lock);
  Link(bin, slab);
  return TakeFromSlab(bin, c);
}

Slab* Arena::NewSlab(SizeClass c, uint32_t page) {
  Slab* slab = spare_slabs_;
  spare_slabs_ = slab->next;
  *slab = {};
  slab->page = page;
  slab->blocks = slab->free = static_cast<uint16_t>(BlocksPerPage(c));
  for (uint32_t i = 0; i < slab->blocks; ++i) slab->bits[i / 64] |= uint64_t{1} << i % 64;
  link(page).slab = slab;
  cached_.fetch_add(kPageBytes, std::memory_order_relaxed);
  return slab;
}

void Arena::PutSmall(SizeClass c, uint32_t page, uintptr_t block) {
  Bin& bin = bins_[c];
  std::lock_guard guard(bin.lock);
  Slab* slab = link(page).slab;
  uint32_t index = BlockIndex(c, static_cast<uint32_t>(block - space_.AddressOf(page)));
  slab->bits[index / 64] |= uint64_t{1} << index % 64;
  if (slab->free++ == 0) Link(bin, slab);
  if (slab->free == slab->blocks) cached_.fetch_add(kPageBytes, std::memory_order_relaxed);
}

// --- large blocks

uintptr_t Arena::TakeLarge(SizeClass c) {
  Bin& bin = bins_[c];
  {
    std::lock_guard guard(bin.lock);
    if (uint32_t page = bin.run; page != kNoPage) {
      bin.run = link(page).next_run;
      bin.used_at = freed_.load(std::memory_order_relaxed);
      cached_.fetch_sub(ClassBytes(c), std::memory_order_relaxed);
      return space_.AddressOf(page);
    }
  }
  std::lock_guard guard(lock_);
  return Carve(c);
}

void Arena::PutLarge(SizeClass c, uint32_t page) {
  Bin& bin = bins_[c];
  std::lock_guard guard(bin.lock);
  link(page).next_run = bin.run;
  bin.run = page;
  bin.used_at = freed_.load(std::memory_order_relaxed);
  cached_.fetch_add(ClassBytes(c), std::memory_order_relaxed);
}

// --- giving memory back

// Before the free of a large block: takes notice of how much is live. Two threads may lose each other's
// notice, which only moves the end of a span.
void Arena::NoteLargeFree(size_t bytes, size_t rounding) {
  size_t live = used() + rounding_.fetch_sub(rounding, std::memory_order_relaxed);
  if (live > peak_.load(std::memory_order_relaxed)) peak_.store(live, std::memory_order_relaxed);
  uint64_t freed = freed_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (freed < span_end_.load(std::memory_order_relaxed)) [[likely]]
    return;
  size_t peak = peak_.load(std::memory_order_relaxed);
  last_peak_.store(peak, std::memory_order_relaxed);
  peak_.store(live, std::memory_order_relaxed);
  span_end_.store(freed + kPeaksInSpan * std::max(peak, kLeastKept), std::memory_order_relaxed);
}

bool Arena::KeepsTooMuch() const {
  size_t cached = this->cached();
  if (cached <= kLeastKept) [[likely]]
    return false;
  size_t peak = std::max(peak_.load(std::memory_order_relaxed), last_peak_.load(std::memory_order_relaxed));
  return cached > peak + peak / 4;  // small blocks are rounded up by as much
}

// The size class whose cached blocks nobody has asked for, or added to, for the longest.
Arena::Bin* Arena::StalestBin(SizeClass* c) {
  Bin* stalest = nullptr;
  uint64_t used_at = 0;
  for (SizeClass i = kSmallClasses; i < kClasses; ++i) {
    Bin& bin = bins_[i];
    std::lock_guard guard(bin.lock);
    if (bin.run == kNoPage || (stalest != nullptr && bin.used_at >= used_at)) continue;
    stalest = &bin;
    used_at = bin.used_at;
    *c = i;
  }
  return stalest;
}

void Arena::Shrink() {
  std::unique_lock arena_guard(lock_, std::try_to_lock);
  if (!arena_guard.owns_lock()) return;  // the next free tries again
  while (KeepsTooMuch()) {
    SizeClass c = 0;
    Bin* bin = StalestBin(&c);
    if (bin == nullptr) break;
    std::lock_guard guard(bin->lock);
    while (bin->run != kNoPage && KeepsTooMuch()) {
      uint32_t page = bin->run;
      bin->run = link(page).next_run;
      GiveBack(page, static_cast<uint32_t>(LargeClassPages(c)));
    }
  }
  for (SizeClass c = 0; c < kSmallClasses && KeepsTooMuch(); ++c) {
    std::lock_guard guard(bins_[c].lock);
    TrimSlabs(bins_[c]);
  }
}

// --- the slow path, under lock_

// New pages for a slab or a large block: their first address, or 0. From 2 MiB up a run starts on a
// huge page; smaller ones fill what is left between those.
uintptr_t Arena::Carve(SizeClass c) {
  auto count = static_cast<uint32_t>(IsSmall(c) ? 1 : LargeClassPages(c));
  if (count > end_ - first_) return 0;
  if (used() + cached() > capacity()) Trim();
  uint32_t alignment = count >= kPagesPerHugePage ? kPagesPerHugePage : 1;
  uint32_t page = ranges_.Take(count, alignment);
  if (page == FreeRanges::kNone && GrowTo(grown_ + count + alignment - 1)) {
    page = ranges_.Take(count, alignment);
  }
  if (page == FreeRanges::kNone) {
    Trim();
    page = ranges_.Take(count, alignment);
  }
  if (page == FreeRanges::kNone) return 0;
  PoisonBlock(space_.AddressOf(page), size_t{count} << kPageShift);
  space_.SetEntries(page, count, PageEntry(page, c, device_, kind_));
  return space_.AddressOf(page);
}

// Opens more of the address range, up to `end` or as much as there is.
bool Arena::GrowTo(uint32_t end) {
  uint32_t target = std::min(end_, std::max(end, grown_ + kGrowPages));
  if (target == grown_) return false;
  auto open = [&](uint32_t count) {
    return OpenTable(&link(grown_), count * sizeof(PageLink)) && space_.Commit(grown_, count);
  };
  bool committed = open(target - grown_);
  if (const uint32_t least = std::min(end_, end); !committed && grown_ < least && least < target) {
    target = least;
    committed = open(target - grown_);
  }
  refusal_.store(committed ? 0 : errno, std::memory_order_relaxed);
  if (!committed) return false;
  ranges_.AddFresh(grown_, target - grown_);
  grown_ = target;
  return true;
}

void Arena::GiveBack(uint32_t first, uint32_t count) {
  space_.SetEntries(first, count, PageEntry());
  space_.Decommit(first, count);
  ranges_.Add(first, count);
  cached_.fetch_sub(size_t{count} << kPageShift, std::memory_order_relaxed);
}

void Arena::TrimSlabs(Bin& bin) {
  for (Slab* slab = bin.slabs; slab != nullptr;) {
    Slab* next = slab->next;
    if (slab->free == slab->blocks) {
      Unlink(bin, slab);
      GiveBack(slab->page, 1);
      slab->next = spare_slabs_;
      spare_slabs_ = slab;
    }
    slab = next;
  }
}

void Arena::Trim() {
  for (SizeClass c = 0; c < kClasses; ++c) {
    Bin& bin = bins_[c];
    std::lock_guard guard(bin.lock);
    if (IsSmall(c)) {
      TrimSlabs(bin);
      continue;
    }
    while (bin.run != kNoPage) {
      uint32_t page = bin.run;
      bin.run = link(page).next_run;
      GiveBack(page, static_cast<uint32_t>(LargeClassPages(c)));
    }
  }
}

void Arena::Clear() {
  std::lock_guard guard(lock_);
  for (uint32_t page = first_; page < grown_;) {
    PageEntry entry = space_.entry(page);
    SizeClass c = entry.size_class();
    uint32_t blocks = entry.empty() ? 0 : IsSmall(c) ? BlocksPerPage(c) : 1;
    for (uint32_t i = 0; i < blocks; ++i) {
      Free(space_.AddressOf(page) + size_t{i} * ClassBytes(c), true, FreedBy::kEndOfDevice);
    }
    page += entry.empty() || IsSmall(c) ? 1 : static_cast<uint32_t>(LargeClassPages(c));
  }
  Trim();
}

std::vector<Arena::LiveBlock> Arena::LargestBlocks(size_t how_many) {
  std::lock_guard guard(lock_);
  std::vector<LiveBlock> blocks;
  for (uint32_t page = first_; page < grown_;) {
    PageEntry entry = space_.entry(page);
    if (entry.empty() || IsSmall(entry.size_class())) {
      ++page;
      continue;
    }
    const BlockRecord& record = space_.record(space_.AddressOf(page));
    uint64_t serial = record.serial.load(std::memory_order_acquire);
    if (serial % 2 == 1) {
      size_t bytes = BlockRecord::Requested(record.size.load(std::memory_order_relaxed));
      blocks.push_back({space_.AddressOf(page), bytes, serial});
    }
    page += static_cast<uint32_t>(LargeClassPages(entry.size_class()));
  }
  size_t kept = std::min(how_many, blocks.size());
  std::partial_sort(blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(kept), blocks.end(),
                    [](const LiveBlock& a, const LiveBlock& b) { return a.bytes > b.bytes; });
  blocks.resize(kept);
  return blocks;
}

void Arena::ForgetAfterFork() {
  UnpoisonBlock(space_.AddressOf(first_), size_t{grown_ - first_} << kPageShift);
}

void Arena::PoisonBlock(uintptr_t block, size_t bytes) {
  Poison(block, bytes);
  if (space_.alias_offset() != 0 && space_.IsDevice(block)) {
    Poison(block + space_.alias_offset(), bytes);
  }
}

void Arena::UnpoisonBlock(uintptr_t block, size_t bytes) {
  Unpoison(block, bytes);
  if (space_.alias_offset() != 0 && space_.IsDevice(block)) {
    Unpoison(block + space_.alias_offset(), bytes);
  }
}

}  // namespace belay::rt
