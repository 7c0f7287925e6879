// The address space of the process's devices: one reserved range, and beside it two tables that say
// for every address which block it is in. The tables are as long as the range, are never unmapped
// and can be read everywhere, so a look-up is a few loads, whatever other threads do. They can be written
// only beside pages that are open: the system counts what a process may write against what it promises
// (RLIMIT_DATA, and everything where vm.overcommit_memory is 2), and the range is far longer than what is
// used.
//
//   pages:  a word for each 64 KiB: which block or size class the page belongs to
//   blocks: a record for each 64 bytes, used where a block starts: its serial and its size
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/arena_size_class.h"
#include "runtime/memory.h"

namespace belay::rt {

// What the page table says of one 64 KiB page, packed into a word. Zero: no block has this page.
class PageEntry {
 public:
  constexpr PageEntry() = default;
  constexpr explicit PageEntry(uint64_t bits) : bits_(bits) {}
  constexpr PageEntry(uint32_t head, SizeClass size_class, int device, MemoryKind kind)
      : bits_(head | uint64_t{size_class} << 32 | uint64_t(device & 0xfff) << 40 |
              uint64_t{static_cast<uint8_t>(kind)} << 52) {}

  constexpr uint64_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr uint32_t head() const { return static_cast<uint32_t>(bits_); }  // first page of the run
  constexpr SizeClass size_class() const { return static_cast<SizeClass>(bits_ >> 32); }
  constexpr int device() const { return (bits_ >> 40) & 0xfff; }
  constexpr MemoryKind kind() const { return static_cast<MemoryKind>(bits_ >> 52 & 3); }

 private:
  uint64_t bits_ = 0;
};

// Spare bytes after a block that a program may use.
enum class Padding : uint8_t {
  kNone,       // none: pinned memory
  kAlign32,    // up to a multiple of 32: aclrtMallocAlign32
  kDocumented  // up to a multiple of 32 and 32 more: aclrtMalloc
};
constexpr size_t Padded(size_t bytes, Padding padding) {
  if (padding == Padding::kNone) return bytes;
  return (bytes + 31) / 32 * 32 + (padding == Padding::kDocumented ? 32 : 0);
}

// The record of a block. Written by the thread that allocates or frees, read by any.
struct BlockRecord {
  std::atomic<uint64_t> serial;  // odd while live; made even by the free
  std::atomic<uint64_t> size;    // see SizeWord

  static constexpr uint64_t SizeWord(size_t requested, Padding padding, bool huge_pages) {
    return uint64_t{requested} << 8 | uint64_t{static_cast<uint8_t>(padding)} << 1 | huge_pages;
  }
  static constexpr size_t Requested(uint64_t word) { return word >> 8; }
  static constexpr Padding PaddingOf(uint64_t word) { return static_cast<Padding>(word >> 1 & 3); }
  static constexpr bool HugePages(uint64_t word) { return word & 1; }
};

// A table of zeros that can be read, and null where the system refuses; a part of it that can be written from
// now on, and false where the system refuses.
void* ReserveTable(size_t bytes) noexcept;
bool OpenTable(void* part, size_t bytes) noexcept;

// Odd, and never the same twice in a process.
uint64_t NextSerial() noexcept;
void CountFree() noexcept;  // see FreeCount

class AddressSpace {
 public:
  AddressSpace() = default;
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // Reserves `bytes` (a multiple of 2 MiB). The first `device_bytes` are device memory: a forked
  // child does not get them, and they have a second mapping at +alias_offset unless that is zero.
  // False when the system refuses.
  bool Reserve(size_t bytes, size_t device_bytes, ptrdiff_t alias_offset);

  uintptr_t base() const { return base_; }
  size_t bytes() const { return bytes_; }
  // What View adds; never zero when an offset was asked for, but perhaps larger.
  ptrdiff_t alias_offset() const { return alias_; }
  bool Contains(uintptr_t address) const { return address - base_ < bytes_; }
  bool IsDevice(uintptr_t address) const { return address - base_ < device_bytes_; }
  uint32_t PageOf(uintptr_t address) const { return static_cast<uint32_t>((address - base_) >> kPageShift); }
  uintptr_t AddressOf(uint32_t page) const { return base_ + (uintptr_t{page} << kPageShift); }

  PageEntry entry(uint32_t page) const { return PageEntry(pages_[page].load(std::memory_order_acquire)); }
  void SetEntries(uint32_t first, uint32_t count, PageEntry entry);
  BlockRecord& record(uintptr_t block) const { return records_[(block - base_) / kBlockAlignment]; }

  // The start of the block around `address`, which is on a page with this entry.
  uintptr_t BlockStart(uintptr_t address, PageEntry entry) const {
    uintptr_t head = AddressOf(entry.head());
    SizeClass c = entry.size_class();
    if (!IsSmall(c)) return head;
    return head + uintptr_t{BlockIndex(c, static_cast<uint32_t>(address - head))} * detail::kSmallBytes[c];
  }

  // Lets the entries of these pages, and the records of what starts on them, be written.
  bool OpenTables(uint32_t first, uint32_t count);
  // Makes pages and their tables writable; gives their memory back. After a false Commit the pages are as
  // before.
  bool Commit(uint32_t first, uint32_t count);
  void Decommit(uint32_t first, uint32_t count);

 private:
  bool MapAlias(ptrdiff_t offset);

  uintptr_t base_ = 0;
  size_t bytes_ = 0;
  size_t device_bytes_ = 0;
  ptrdiff_t alias_ = 0;
  std::atomic<uint64_t>* pages_ = nullptr;
  BlockRecord* records_ = nullptr;
};

}  // namespace belay::rt
