#include "runtime/memory_virtual.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iterator>

#include "base/codes.h"
#include "base/error.h"
#include "base/error_about.h"
#include "base/fork.h"
#include "base/quiet_write.h"
#include "base/room.h"
#include "base/system_limit.h"
#include "runtime/codes.h"
#include "runtime/memory_sharing.h"
#include "runtime/memory_state.h"
#include "runtime/observer.h"

namespace belay::rt {
namespace {

constexpr int kBadHandle = codes::kRtInvalidHandle;

uint32_t PagesFor(size_t bytes) {
  return static_cast<uint32_t>((bytes + kPhysicalGranularity - 1) / kPhysicalGranularity * kPagesPerHugePage);
}

void CheckGranular(size_t bytes, const char* argument) {
  if (bytes % kPhysicalGranularity == 0) return;
  Fail(kBadArgument, "memory-granularity",
       "{} is {} bytes; it must be a multiple of the granularity of physical memory, {} bytes "
       "(aclrtMemGetAllocationGranularity)",
       argument, bytes, kPhysicalGranularity);
}

constinit PhysicalMemoryTable g_physical_memories;
[[maybe_unused]] const bool g_memory_virtual_at_fork = UnlockInChild<g_physical_memories>();

[[noreturn]] void FailMapping(size_t bytes) {
  Fail(kOutOfMemory, "memory-map", "the system refused to map {} bytes ({})", bytes, ExplainRefusal(errno));
}

// The same for all that show it, also by another handle: its file's.
uint64_t FileNumberOf(const PhysicalMemory& memory) noexcept {
  struct stat about {};
  return fstat(memory.file, &about) == 0 ? about.st_ino : 0;
}

// A card binds a reserved range to memory of one kind.
void CheckAlike(const PhysicalMemory& memory, const PhysicalMemory& beside) {
  if (beside.device == memory.device && beside.charged == memory.charged) return;
  const auto kind = [](const PhysicalMemory& m) { return m.charged ? "" : "imported "; };
  Fail(kBadArgument, "memory-map-mixed",
       "{}memory of device {} does not go into a reserved range that shows {}memory of device {}; reserve a "
       "range for each",
       kind(memory), memory.device, kind(beside), beside.device);
}

[[noreturn]] void FailFreed() {
  Fail(kBadHandle, "memory-physical-freed", "this physical memory was freed (aclrtFreePhysical)");
}

}  // namespace

PhysicalMemoryTable& PhysicalMemories() { return g_physical_memories; }

VirtualMemory::VirtualMemory(AddressSpace* space, uint32_t first, uint32_t count) : space_(*space) {
  free_.AddFresh(first, count);
}

void* VirtualMemory::Reserve(size_t bytes, void* wanted) {
  std::lock_guard guard(lock_);
  return ReserveLocked(bytes, wanted);
}

void* VirtualMemory::ReserveLocked(size_t bytes, void* wanted) {
  if (bytes == 0) Fail(kBadArgument, "memory-size-zero", "a range of 0 bytes cannot be reserved");
  if (bytes > space_.bytes()) {
    Fail(kOutOfMemory, "memory-addresses-used-up",
         "{} bytes of addresses were asked for; there are {} in all", bytes, space_.bytes());
  }
  uint32_t count = PagesFor(bytes);
  uint32_t first = FreeRanges::kNone;
  auto address = reinterpret_cast<uintptr_t>(wanted);
  if (space_.Contains(address)) {
    const bool aligned = (address - space_.base()) % kPhysicalGranularity == 0;
    if (aligned) first = free_.TakeAt(space_.PageOf(address), count);
    if (first == FreeRanges::kNone) {
      Fail(kOutOfMemory, "memory-address-taken",
           "{} bytes at {} cannot be reserved: {}; give null, and any range is found", bytes, wanted,
           aligned ? "they are not free" : "the address is not aligned to 2 MiB");
    }
  } else {  // a program knows the card's addresses, which are others
    first = free_.Take(count, kPagesPerHugePage);
  }
  if (first == FreeRanges::kNone) {
    Fail(kOutOfMemory, "memory-addresses-used-up",
         "no range of {} bytes of addresses is left; release ranges that are not used any more "
         "(aclrtReleaseMemAddress)",
         bytes);
  }
  Rollback not_reserved([&] { free_.Add(first, count); });
  reserved_.emplace(first, count);
  not_reserved.Keep();
  return reinterpret_cast<void*>(space_.AddressOf(first));
}

std::map<uint32_t, uint32_t>::iterator VirtualMemory::ReservationOf(uintptr_t address) {
  if (!space_.Contains(address)) return reserved_.end();
  uint32_t page = space_.PageOf(address);
  auto it = reserved_.upper_bound(page);
  if (it == reserved_.begin()) return reserved_.end();
  --it;
  return page - it->first < it->second ? it : reserved_.end();
}

void VirtualMemory::Release(void* range) {
  std::lock_guard guard(lock_);
  auto address = reinterpret_cast<uintptr_t>(range);
  auto it = ReservationOf(address);
  if (it == reserved_.end() || space_.AddressOf(it->first) != address) {
    Fail(kBadArgument, "memory-not-reserved",
         "{} is not the start of a range from aclrtReserveMemAddress (or it was released already)", range);
  }
  auto mapping = mapped_.lower_bound(it->first);
  if (mapping != mapped_.end() && mapping->second.reservation == it->first) {
    Fail(kBadArgument, "memory-still-mapped",
         "the range at {} still has physical memory mapped at {:#x}; call aclrtUnmapMem first", range,
         space_.AddressOf(mapping->first));
  }
  free_.Add(it->first, it->second);
  reserved_.erase(it);
}

HandleBits VirtualMemory::CreatePhysical(int device, size_t bytes) {
  if (bytes == 0) Fail(kBadArgument, "memory-size-zero", "0 bytes of physical memory");
  CheckGranular(bytes, "size");
  Arena& arena = DeviceArena(device);
  CheckAllowance(arena, bytes);
  if (!arena.Charge(bytes)) {
    Fail(kOutOfMemory, "device-out-of-memory",
         "device {} has {} of {} bytes free; {} bytes of physical memory were asked for", device,
         arena.capacity() - arena.used(), arena.capacity(), bytes);
  }
  int file = memfd_create("belay-physical-memory", MFD_CLOEXEC);
  Rollback no_memory([&] {
    if (file >= 0) close(file);
    arena.Uncharge(bytes);
  });
  HandleBits handle = 0;
  if (file >= 0 && SizeToMap(file, bytes)) {
    handle = g_physical_memories.Create(file, device, bytes, true);
  }
  if (handle == 0) {
    Fail(kOutOfMemory, "memory-file", "the system gave no memory file of {} bytes ({})", bytes,
         ExplainRefusal(errno));
  }
  no_memory.Keep();
  return handle;
}

// One user less; the last one gives the memory back. The caller holds lock_.
void VirtualMemory::Drop(PhysicalMemory* memory) {
  if (--memory->users != 0) return;
  // Who has imported it has the file, too, which nothing else comes to lie in.
  if (memory->offer.nonce != 0 && Offers::Get().Withdraw(memory->offer)) Offers::Get().Release(memory->offer);
  close(memory->file);
  if (memory->charged) DeviceArena(memory->device).Uncharge(memory->bytes);
  g_physical_memories.Recycle(memory);
}

void VirtualMemory::FreePhysical(PhysicalMemory& memory) {
  std::lock_guard guard(lock_);
  const HandleBits handle = g_physical_memories.HandleOf(&memory);
  if (memory.freed || g_physical_memories.Retire(handle) == nullptr) FailFreed();
  memory.freed = true;
  if (Observers::any()) TellDestroyed(handle);
  Drop(&memory);
}

void VirtualMemory::Map(void* at, size_t bytes, size_t offset, PhysicalMemory& memory) {
  std::lock_guard guard(lock_);
  if (memory.freed) FailFreed();
  CheckGranular(bytes, "size");
  CheckGranular(offset, "offset");
  if (bytes == 0 || offset > memory.bytes || bytes > memory.bytes - offset) {
    Fail(kBadArgument, "memory-map-beyond-physical",
         "{} bytes from offset {} do not fit physical memory of {} bytes", bytes, offset, memory.bytes);
  }
  auto address = reinterpret_cast<uintptr_t>(at);
  auto range = ReservationOf(address);
  if (range == reserved_.end() || (address - space_.base()) % kPhysicalGranularity != 0 ||
      PagesFor(bytes) > range->first + range->second - space_.PageOf(address)) {
    Fail(kBadArgument, "memory-not-reserved",
         "[{}, +{}) is not inside one range from aclrtReserveMemAddress at a multiple of {} bytes", at, bytes,
         kPhysicalGranularity);
  }
  uint32_t first = space_.PageOf(address);
  auto next = mapped_.upper_bound(first);
  bool taken = next != mapped_.end() && next->first < first + PagesFor(bytes);
  if (next != mapped_.begin()) {
    auto previous = std::prev(next);
    taken = taken || previous->first + previous->second.pages > first;
  }
  if (taken) {
    Fail(kBadArgument, "memory-still-mapped",
         "[{}, +{}) already has physical memory; call aclrtUnmapMem first", at, bytes);
  }
  auto beside = mapped_.lower_bound(range->first);  // any of the range: all are alike
  if (beside != mapped_.end() && beside->second.reservation == range->first) {
    CheckAlike(memory, *beside->second.memory);
  }
  auto mapping = mapped_.emplace(first, Mapping{PagesFor(bytes), range->first, &memory}).first;
  Rollback not_mapped([&] { mapped_.erase(mapping); });
  Remap(first, PagesFor(bytes), &memory, offset, bytes);
  not_mapped.Keep();
  ++memory.users;
}

// Shows `memory`, or nothing, on these pages, and then says so in the tables. Nothing is fresh memory
// without content: a task that is still queued (an error of the program) must not bring the process
// down.
void VirtualMemory::Remap(uint32_t first, uint32_t pages, const PhysicalMemory* memory, size_t offset,
                          size_t usable) {
  size_t bytes = memory == nullptr ? size_t{pages} << kPageShift : usable;
  uintptr_t address = space_.AddressOf(first);
  BlockRecord& record = space_.record(address);
  int flags = memory == nullptr ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  if (memory != nullptr && !space_.OpenTables(first, pages)) FailMapping(bytes);
  for (ptrdiff_t alias : {ptrdiff_t{0}, space_.alias_offset()}) {
    void* p = reinterpret_cast<void*>(address + static_cast<uintptr_t>(alias));
    void* mapped = mmap(p, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED | MAP_NORESERVE,
                        memory == nullptr ? -1 : memory->file, static_cast<off_t>(offset));
    if (mapped == MAP_FAILED && memory == nullptr) {  // what may only be read, the system promises to nobody
      mapped = mmap(p, bytes, PROT_READ, flags | MAP_FIXED | MAP_NORESERVE, -1, 0);
    }
    if (mapped == MAP_FAILED) FailMapping(bytes);
    madvise(p, bytes, MADV_DONTFORK);
    if (space_.alias_offset() == 0) break;
  }
  if (memory == nullptr) {
    const uint64_t serial = record.serial.fetch_sub(1, std::memory_order_release);
    CountFree();
    if (Observers::any()) [[unlikely]] {
      const size_t shown = BlockRecord::Requested(record.size.load(std::memory_order_relaxed));
      TellFreed({BlockKind::kMapped, -1, address, shown, serial, 0}, FreedBy::kCall);
    }
    space_.SetEntries(first, pages, PageEntry());
    return;
  }
  record.size.store(BlockRecord::SizeWord(usable, Padding::kNone, true), std::memory_order_relaxed);
  const uint64_t serial = NextSerial();
  record.serial.store(serial, std::memory_order_release);
  space_.SetEntries(first, pages, PageEntry(first, kMappedClass, memory->device, MemoryKind::kDevice));
  if (Observers::any()) [[unlikely]] {
    const BlockKind kind = memory->charged ? BlockKind::kMapped : BlockKind::kImported;
    TellAllocated({kind, memory->device, address, usable, serial, 0, FileNumberOf(*memory), offset});
  }
}

VirtualMemory::Mappings::iterator VirtualMemory::Erase(Mappings::iterator mapping) {
  Remap(mapping->first, mapping->second.pages, nullptr, 0, 0);
  Drop(mapping->second.memory);
  return mapped_.erase(mapping);
}

void VirtualMemory::Unmap(void* at) {
  std::lock_guard guard(lock_);
  auto address = reinterpret_cast<uintptr_t>(at);
  auto mapping = space_.Contains(address) ? mapped_.find(space_.PageOf(address)) : mapped_.end();
  if (mapping == mapped_.end() || space_.AddressOf(mapping->first) != address) {
    FailAbout(at, kBadArgument, "memory-not-mapped",
              "{} is not an address that aclrtMapMem mapped memory at (or it was unmapped already)", at);
  }
  Erase(mapping);
}

// --- sharing with other processes

OfferName VirtualMemory::Export(PhysicalMemory& memory, bool anybody) {
  std::lock_guard guard(lock_);
  if (memory.freed) FailFreed();
  if (memory.offer.nonce != 0 || !memory.charged) {
    Fail(kBadArgument, "share-twice", "this physical memory {}; one handle has one shareable handle",
         memory.charged ? "was exported already" : "is another process's, which exported it");
  }
  memory.offer = Offers::Get().Add(
      {OfferKind::kPhysicalMemory, memory.file, NumberAmongAll(memory.device), anybody, 0, memory.bytes});
  return memory.offer;
}

HandleBits VirtualMemory::ImportPhysical(int file, int device, size_t bytes) {
  HandleBits handle = g_physical_memories.Create(file, device, bytes, false);
  if (handle != 0) return handle;
  close(file);
  Fail(kOutOfMemory, "memory-file", "the process holds as much physical memory as it can number");
}

void* VirtualMemory::MapFile(int file, uint64_t offset, size_t bytes, int device) {
  constexpr size_t kSystemPage = 4096;
  size_t before = offset % kSystemPage;  // a mapping starts on a page
  size_t usable = before + bytes;
  std::lock_guard guard(lock_);
  PhysicalMemory* memory = g_physical_memories.Find(ImportPhysical(file, device, usable));
  memory->freed = true;  // no program has its handle; the mapping is its only user
  g_physical_memories.Retire(g_physical_memories.HandleOf(memory));
  uint32_t first = FreeRanges::kNone;
  try {
    first = space_.PageOf(reinterpret_cast<uintptr_t>(ReserveLocked(usable, nullptr)));
    auto pages = static_cast<uint32_t>((usable + kPageBytes - 1) / kPageBytes);
    auto mapping = mapped_.emplace(first, Mapping{pages, first, memory}).first;
    Rollback not_mapped([&] { mapped_.erase(mapping); });
    Remap(first, pages, memory, offset - before, usable);
    not_mapped.Keep();
  } catch (...) {
    if (auto range = reserved_.find(first); range != reserved_.end()) {
      free_.Add(range->first, range->second);
      reserved_.erase(range);
    }
    Drop(memory);
    throw;
  }
  return reinterpret_cast<std::byte*>(space_.AddressOf(first)) + before;
}

void VirtualMemory::UnmapFile(void* p) {
  std::lock_guard guard(lock_);
  auto address = reinterpret_cast<uintptr_t>(p);
  auto mapping = space_.Contains(address) ? mapped_.find(space_.PageOf(address)) : mapped_.end();
  if (mapping == mapped_.end()) return;  // gone with its device
  auto range = reserved_.find(mapping->first);
  Erase(mapping);
  free_.Add(range->first, range->second);
  reserved_.erase(range);
}

void VirtualMemory::ReleaseDevice(int device) {
  std::lock_guard guard(lock_);
  for (auto it = mapped_.begin(); it != mapped_.end();) {
    it = it->second.memory->device == device ? Erase(it) : std::next(it);
  }
  g_physical_memories.ForEach([&](PhysicalMemory& memory) {
    if (memory.device != device) return;
    if (g_physical_memories.Retire(g_physical_memories.HandleOf(&memory)) == nullptr) return;
    memory.freed = true;
    Drop(&memory);
  });
}

}  // namespace belay::rt
