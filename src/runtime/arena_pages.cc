#include "runtime/arena_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/quiet_write.h"
#include "base/room.h"

namespace belay::rt {
namespace {

// Not from 1: the serial of a freed block is one less, and 0 means that there never was a block.
constinit std::atomic<uint64_t> g_next_serial{3};
constinit std::atomic<uint64_t> g_frees{0};

constexpr size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

void* MapPrivate(size_t bytes, int protection) {
  void* p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

// Reserves `bytes` at a multiple of 2 MiB.
uintptr_t ReserveAligned(size_t bytes) {
  void* p = MapPrivate(bytes + kHugePageBytes, PROT_NONE);
  if (p == nullptr) return 0;
  auto raw = reinterpret_cast<uintptr_t>(p);
  uintptr_t base = RoundUp(raw, kHugePageBytes);
  if (base != raw) munmap(p, base - raw);
  size_t tail = raw + kHugePageBytes - base;
  if (tail != 0) munmap(reinterpret_cast<void*>(base + bytes), tail);
  return base;
}

}  // namespace

void* ReserveTable(size_t bytes) noexcept { return MapPrivate(bytes, PROT_READ); }

bool OpenTable(void* part, size_t bytes) noexcept {
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(part);
  const uintptr_t first = at / page * page;
  return mprotect(reinterpret_cast<void*>(first), RoundUp(at + bytes, page) - first,
                  PROT_READ | PROT_WRITE) == 0;
}

uint64_t NextSerial() noexcept { return g_next_serial.fetch_add(2, std::memory_order_relaxed); }
void CountFree() noexcept { g_frees.fetch_add(1, std::memory_order_release); }
uint64_t FreeCount() noexcept { return g_frees.load(std::memory_order_acquire); }

bool AddressSpace::Reserve(size_t bytes, size_t device_bytes, ptrdiff_t alias_offset) {
  ptrdiff_t alias = 0;
  if (alias_offset != 0) {
    alias = static_cast<ptrdiff_t>(
        std::max(RoundUp(static_cast<size_t>(std::abs(alias_offset)), kHugePageBytes), bytes));
  }
  uintptr_t base = ReserveAligned(bytes + (alias == 0 ? 0 : alias + device_bytes - bytes));
  size_t pages = bytes >> kPageShift;
  void* entries = ReserveTable(pages * sizeof(uint64_t));
  void* records = ReserveTable(bytes / kBlockAlignment * sizeof(BlockRecord));
  if (base == 0 || entries == nullptr || records == nullptr) {
    if (base != 0) munmap(reinterpret_cast<void*>(base), bytes);
    if (entries != nullptr) munmap(entries, pages * sizeof(uint64_t));
    if (records != nullptr) munmap(records, bytes / kBlockAlignment * sizeof(BlockRecord));
    return false;
  }
  base_ = base;
  bytes_ = bytes;
  device_bytes_ = device_bytes;
  pages_ = static_cast<std::atomic<uint64_t>*>(entries);
  records_ = static_cast<BlockRecord*>(records);
  madvise(reinterpret_cast<void*>(base), bytes, MADV_HUGEPAGE);
  if (alias != 0 && !MapAlias(alias)) return false;
  if (device_bytes != 0) madvise(reinterpret_cast<void*>(base), device_bytes, MADV_DONTFORK);
  return true;
}

// The device part again, as shared memory mapped twice: huge pages are lost, a second view is won.
bool AddressSpace::MapAlias(ptrdiff_t offset) {
  int file = memfd_create("belay-device-memory", MFD_CLOEXEC);
  if (file < 0) return false;
  bool mapped = SizeQuietly(file, device_bytes_);
  for (uintptr_t at : {base_, base_ + offset}) {
    void* p = reinterpret_cast<void*>(at);
    mapped = mapped &&
             mmap(p, device_bytes_, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) != MAP_FAILED;
    if (mapped) madvise(p, device_bytes_, MADV_DONTFORK);
  }
  close(file);
  alias_ = mapped ? offset : 0;
  return mapped;
}

void AddressSpace::SetEntries(uint32_t first, uint32_t count, PageEntry entry) {
  for (uint32_t i = 0; i < count; ++i) {
    pages_[first + i].store(entry.bits(), std::memory_order_release);
  }
}

bool AddressSpace::OpenTables(uint32_t first, uint32_t count) {
  constexpr size_t kRecordsOfPage = kPageBytes / kBlockAlignment;
  return OpenTable(pages_ + first, count * sizeof(uint64_t)) &&
         OpenTable(records_ + first * kRecordsOfPage, count * kRecordsOfPage * sizeof(BlockRecord));
}

// The pages first, of which there are more than of the tables: what is refused has cost no promise.
bool AddressSpace::Commit(uint32_t first, uint32_t count) {
  auto* p = reinterpret_cast<std::byte*>(AddressOf(first));
  const size_t bytes = size_t{count} << kPageShift;
  const bool twice = alias_ != 0 && IsDevice(AddressOf(first));
  if (mprotect(p, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  Rollback close([&] {
    const int why = errno;
    mprotect(p, bytes, PROT_NONE);
    if (twice) mprotect(p + alias_, bytes, PROT_NONE);
    errno = why;
  });
  if (!OpenTables(first, count)) return false;
  if (twice && mprotect(p + alias_, bytes, PROT_READ | PROT_WRITE) != 0) return false;
#ifdef MADV_POPULATE_WRITE
  // Instead of a SIGBUS at the first write to a page that there is no memory for; older systems do not know
  // it.
  if (twice && PromisesOnlyWhatThereIs() && madvise(p, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
    return false;
#endif
  close.Keep();
  return true;
}

void AddressSpace::Decommit(uint32_t first, uint32_t count) {
  uintptr_t at = AddressOf(first);
  bool shared = alias_ != 0 && IsDevice(at);
  madvise(reinterpret_cast<void*>(at), size_t{count} << kPageShift, shared ? MADV_REMOVE : MADV_DONTNEED);
}

}  // namespace belay::rt
