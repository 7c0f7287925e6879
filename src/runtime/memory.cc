#include "runtime/memory.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <string>

#include "base/codes.h"
#include "base/error_about.h"
#include "base/system_limit.h"
#include "runtime/arena_poison.h"
#include "runtime/codes.h"
#include "runtime/memory_sharing.h"
#include "runtime/memory_state.h"
#include "runtime/observer.h"

namespace belay::rt {

constinit std::atomic<MemoryState*> g_memory{nullptr};

namespace {

struct Allowance {
  size_t bytes;
  std::string words;
};
constinit std::atomic<const Allowance*> g_allowance{nullptr};

[[noreturn, gnu::cold, gnu::noinline]] void FailAllowance(const Arena& arena, const Allowance& allowance,
                                                          size_t bytes) {
  Fail(codes::kRtMemoryAllocation, "fault-injected",
       "device {} cannot give {} bytes beside the {} that are in use: this was injected, as '{}' asks for "
       "(BELAY_FAULTS)",
       arena.device(), bytes, arena.used(), allowance.words);
}

}  // namespace

void SetDeviceAllowance(size_t bytes, const std::string& words) {
  static std::mutex lock;
  static auto* const kept = new std::deque<Allowance>;  // another thread may be looking at one
  std::lock_guard guard(lock);
  g_allowance.store(bytes == 0 ? nullptr : &kept->emplace_back(Allowance{bytes, words}),
                    std::memory_order_release);
}

void CheckAllowance(const Arena& arena, size_t bytes) {
  const Allowance* allowance = g_allowance.load(std::memory_order_acquire);
  if (allowance == nullptr || arena.device() < 0) [[likely]]
    return;
  const size_t used = arena.used();
  if (used > allowance->bytes || bytes > allowance->bytes - used) FailAllowance(arena, *allowance, bytes);
}
constinit RegisteredRanges g_registered;

namespace {

constexpr int kUninitialised = codes::kUninitialize;
constexpr int kBadDevice = codes::kRtInvalidDeviceid;

// No user address lies below or beyond these, on any machine we run on: systems keep the first pages free,
// where null pointers with an offset lead.
constexpr uintptr_t kLeastAddress = uintptr_t{1} << 16;
constexpr uintptr_t kEndOfAddresses = uintptr_t{1} << 56;

constinit std::mutex g_start_lock;

// Memory that no block of ours holds.
MemoryRange LookupOutside(uintptr_t address) noexcept {
  MemoryRange range;
  if (g_registered.empty()) return range;
  RegisteredRange found = g_registered.Find(address);
  if (found.bytes == 0) return range;
  range.kind = MemoryKind::kPinned;
  range.base = found.base;
  range.bytes = found.bytes;
  range.live = true;
  return range;
}

MemoryRange LookupUnused(const MemoryState& memory, uintptr_t address) noexcept {
  MemoryRange range;
  range.kind = memory.space.IsDevice(address) ? MemoryKind::kDevice : MemoryKind::kPinned;
  Arena* arena = memory.ArenaOf(address);
  range.device = arena == nullptr ? -1 : arena->device();
  return range;
}

// Mapped memory goes on where the next mapping of the same device follows without a gap.
void ExtendMapped(const AddressSpace& space, const void* p, size_t bytes, MemoryRange& range) noexcept {
  while (range.Remaining(p) < bytes) {
    uintptr_t next = range.base + range.bytes;
    if (!space.Contains(next) || next % kPageBytes != 0) return;
    PageEntry entry = space.entry(space.PageOf(next));
    if (entry.size_class() != kMappedClass || entry.device() != range.device) return;
    range.bytes += BlockRecord::Requested(space.record(next).size.load(std::memory_order_relaxed));
  }
}

}  // namespace

MemoryState& Memory() {
  MemoryState* memory = g_memory.load(std::memory_order_acquire);
  if (memory == nullptr) Fail(kUninitialised, "not-initialised", "call aclInit first");
  return *memory;
}

Arena& DeviceArena(int device) {
  MemoryState& memory = Memory();
  if (device < 0 || static_cast<size_t>(device) >= memory.devices.size()) {
    Fail(kBadDevice, "device-id", "device {} does not exist; there are {}", device, memory.devices.size());
  }
  return *memory.devices[static_cast<size_t>(device)];
}

MemoryRange Lookup(const void* p, size_t bytes) noexcept {
  auto address = reinterpret_cast<uintptr_t>(p);
  const MemoryState* memory = g_memory.load(std::memory_order_acquire);
  if (memory == nullptr || !memory->space.Contains(address)) return LookupOutside(address);
  const AddressSpace& space = memory->space;
  PageEntry entry = space.entry(space.PageOf(address));
  if (entry.empty()) return LookupUnused(*memory, address);

  MemoryRange range;
  range.kind = entry.kind();
  range.device = range.kind == MemoryKind::kDevice ? entry.device() : -1;
  range.base = space.BlockStart(address, entry);
  const BlockRecord& record = space.record(range.base);
  range.serial = record.serial.load(std::memory_order_acquire);
  uint64_t size = record.size.load(std::memory_order_relaxed);
  size_t requested = BlockRecord::Requested(size);
  range.bytes = kGrantPadding ? Padded(requested, BlockRecord::PaddingOf(size)) : requested;
  range.huge_pages = BlockRecord::HugePages(size);
  range.live = range.serial % 2 == 1;
  if (entry.size_class() == kMappedClass) [[unlikely]]
    ExtendMapped(space, p, bytes, range);
  return range;
}

uint64_t BlockSerial(const void* p) noexcept {
  MemoryRange range = Lookup(p);
  return range.live && range.Remaining(p) != 0 ? range.serial : 0;
}

void* View(void* p, size_t /*bytes*/) noexcept {
  const MemoryState* memory = g_memory.load(std::memory_order_relaxed);
  if (memory == nullptr || memory->space.alias_offset() == 0) [[likely]]
    return p;
  if (!memory->space.IsDevice(reinterpret_cast<uintptr_t>(p))) return p;
  return static_cast<std::byte*>(p) + memory->space.alias_offset();
}

// --- checks and their words

std::string DescribeAddress(const void* p) {
  MemoryRange range = Lookup(p);
  if (range.kind == MemoryKind::kHost) return fmt::format("{} (ordinary host memory)", p);
  std::string where = range.kind == MemoryKind::kPinned ? "pinned host memory"
                      : range.device < 0                ? "virtual memory"
                                                        : fmt::format("memory of device {}", range.device);
  if (range.serial == 0 && !range.live) return fmt::format("{} ({}, in no block)", p, where);
  if (range.serial == 0) {
    return fmt::format("{} (host memory registered at {:#x}, {} bytes)", p, range.base, range.bytes);
  }
  uint64_t allocation = (range.serial + 1) / 2;
  uintptr_t offset = reinterpret_cast<uintptr_t>(p) - range.base;
  std::string place = offset == 0 ? "" : fmt::format("{} bytes into ", offset);
  size_t requested =
      BlockRecord::Requested(Memory().space.record(range.base).size.load(std::memory_order_relaxed));
  return fmt::format("{} ({}, {}the block of {} bytes from allocation {}{})", p, where, place, requested,
                     allocation, range.live ? "" : ", which was freed");
}

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void FailRange(const void* p, size_t bytes, const MemoryRange& range,
                                                      const char* argument) {
  if (!range.live) {
    FailAbout(p, kBadArgument, "memory-not-allocated",
              "{} is {}: no memory is allocated there; free memory only after its last use", argument,
              DescribeAddress(p));
  }
  FailAbout(p, kBadArgument, "memory-beyond-block", "{} is {}: {} bytes from there go {} bytes past its end",
            argument, DescribeAddress(p), bytes, bytes - range.Remaining(p));
}

[[noreturn, gnu::cold, gnu::noinline]] void FailHostRange(const void* p, size_t bytes, const char* argument) {
  if (p == nullptr) Fail(kBadArgument, "null-pointer", "{} is a null pointer", argument);
  FailAbout(p, kBadArgument, "memory-not-an-address",
            "{} is {}: {} bytes from there are not memory of this process", argument, p, bytes);
}

}  // namespace

MemoryRange CheckRange(const void* p, size_t bytes, const char* argument) {
  MemoryRange range = Lookup(p, bytes);
  if (range.live) [[likely]] {
    if (bytes <= range.Remaining(p)) [[likely]]
      return range;
    FailRange(p, bytes, range, argument);
  }
  if (range.kind != MemoryKind::kHost) FailRange(p, bytes, range, argument);
  // Ordinary memory: where it lies is unknown, but not where systems map nothing, nor beyond all addresses,
  // nor inside an arena.
  auto address = reinterpret_cast<uintptr_t>(p);
  if (address < kLeastAddress || address >= kEndOfAddresses || bytes > kEndOfAddresses - address) {
    FailHostRange(p, bytes, argument);
  }
  const MemoryState* memory = g_memory.load(std::memory_order_acquire);
  if (memory != nullptr && address < memory->space.base() && bytes > memory->space.base() - address) {
    FailHostRange(p, bytes, argument);
  }
  return range;
}

void CheckDeviceRange(const void* p, size_t bytes, const char* argument) {
  if (CheckRange(p, bytes, argument).kind == MemoryKind::kDevice) return;
  FailAbout(p, kBadArgument, "memory-not-of-device",
            "{} is {}; a device works on its own memory: copy to memory from aclrtMalloc first", argument,
            DescribeAddress(p));
}

// --- allocation

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void FailFull(Arena& arena, size_t bytes) {
  std::string largest;
  for (const Arena::LiveBlock& block : arena.LargestBlocks(3)) {
    largest += fmt::format("{}{} bytes at {:#x} (allocation {})", largest.empty() ? "" : ", ", block.bytes,
                           block.address, (block.serial + 1) / 2);
  }
  size_t used = std::min(arena.used(), arena.capacity());
  size_t free = arena.capacity() - used;
  std::string what = arena.device() < 0 ? "pinned host memory" : fmt::format("device {}", arena.device());
  if (bytes <= free && arena.refusal() != 0) {
    Fail(
        kOutOfMemory, "memory-system-refused",
        "{} cannot give {} bytes, though {} of {} are free: the system refused to open addresses for them ({})",
        what, bytes, free, arena.capacity(), ExplainRefusal(arena.refusal()));
  }
  Fail(kOutOfMemory, "device-out-of-memory",
       "{} cannot give {} bytes: {} of {} bytes are free{}{}. Free memory, or raise the capacity "
       "(BELAY_DEVICE_MEMORY)",
       what, bytes, free, arena.capacity(), largest.empty() ? "" : "; the largest blocks: ", largest);
}

void* AllocateFrom(Arena& arena, const AllocationRequest& request, Padding padding) {
  if (request.bytes == 0) {
    Fail(kBadArgument, "memory-size-zero", "size is 0; a block has at least one byte");
  }
  CheckAllowance(arena, request.bytes);
  // HUGE_FIRST takes ordinary pages up to 1 MiB.
  bool huge = request.pages == PagePolicy::kHugeOnly ||
              (request.pages == PagePolicy::kHugeFirst && request.bytes > (size_t{1} << 20));
  void* p = arena.Allocate(request.bytes, padding, huge);
  if (p == nullptr) FailFull(arena, request.bytes);
  return p;
}

[[noreturn, gnu::cold, gnu::noinline]] void FailFree(const void* p, MemoryKind wanted) {
  const char* maker = wanted == MemoryKind::kDevice ? "aclrtMalloc" : "aclrtMallocHost";
  if (p == nullptr) {
    Fail(kBadArgument, "null-pointer", "the pointer to free is null; {} never returned it", maker);
  }
  MemoryRange range = Lookup(p);
  bool interior = range.live && range.serial != 0 && range.base != reinterpret_cast<uintptr_t>(p);
  bool freed = !range.live && range.serial != 0;
  if (range.kind != MemoryKind::kHost && range.kind != wanted && range.live && range.serial != 0) {
    FailAbout(p, kBadArgument, "free-wrong-kind", "{} came from {}; free it with {}", DescribeAddress(p),
              wanted == MemoryKind::kDevice ? "aclrtMallocHost" : "aclrtMalloc",
              wanted == MemoryKind::kDevice ? "aclrtFreeHost" : "aclrtFree");
  }
  if (freed) FailAbout(p, kBadArgument, "free-twice", "{} was freed already", DescribeAddress(p));
  if (interior) {
    FailAbout(p, kBadArgument, "free-interior",
              "{} is not the start of its block; free the pointer that {} gave: {:#x}", DescribeAddress(p),
              maker, range.base);
  }
  FailAbout(p, kBadArgument, "free-foreign", "{} did not come from {}", DescribeAddress(p), maker);
}

void FreeBlock(void* p, MemoryKind kind) {
  auto address = reinterpret_cast<uintptr_t>(p);
  MemoryState* memory = g_memory.load(std::memory_order_acquire);
  if (memory == nullptr || !memory->space.Contains(address)) FailFree(p, kind);
  Arena* arena = memory->ArenaOf(address);
  bool wanted = arena != nullptr && (arena->device() >= 0) == (kind == MemoryKind::kDevice);
  bool freed = wanted && (kind == MemoryKind::kDevice ? SharedMemory::Get().Free(*arena, address)
                                                      : arena->Free(address));
  if (!freed) FailFree(p, kind);
}

}  // namespace

void* AllocateDevice(int device, const AllocationRequest& request) {
  return AllocateFrom(DeviceArena(device), request,
                      request.padded ? Padding::kDocumented : Padding::kAlign32);
}

void* AllocatePinned(size_t bytes) {
  return AllocateFrom(*Memory().pinned, {.bytes = bytes}, Padding::kNone);
}

void FreeDevice(void* p) { FreeBlock(p, MemoryKind::kDevice); }
void FreePinned(void* p) { FreeBlock(p, MemoryKind::kPinned); }

MemoryInfo DeviceMemoryInfo(int device) {
  const Arena& arena = DeviceArena(device);
  size_t total = arena.capacity();
  return {total - std::min(arena.used(), total), total};
}

MemoryUse DeviceMemoryUse(int device) {
  const Arena& arena = DeviceArena(device);
  return {arena.used(), arena.most_used()};
}

// --- life cycle

namespace {

constexpr size_t kGiB = size_t{1} << 30;

size_t RoundToHuge(size_t n) { return (n + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes; }

size_t PhysicalMemoryOfMachine() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Reserves several times the capacity, so that fragmentation costs addresses and not memory. Less
// where the system limits addresses; the last attempt (0) takes no more than the capacity needs.
std::unique_ptr<MemoryState> NewState(const MemoryConfig& config) {
  size_t ram = PhysicalMemoryOfMachine();
  for (size_t generous : {4, 2, 1, 0}) {
    auto memory = std::make_unique<MemoryState>();
    auto devices = static_cast<size_t>(config.devices);
    size_t total = config.bytes_per_device * devices;
    size_t each = RoundToHuge(config.bytes_per_device * std::max<size_t>(generous, 1));
    size_t mapped = RoundToHuge(2 * generous * std::max(total, 8 * kGiB));
    size_t pinned = RoundToHuge(ram * generous);
    if (generous == 0) {
      mapped = RoundToHuge(total);
      pinned = RoundToHuge(std::max(total, kGiB));
    }
    size_t device_bytes = each * devices + mapped;
    if (!memory->space.Reserve(device_bytes + pinned, device_bytes, config.alias_offset)) continue;

    memory->config = config;
    memory->pages_per_device = static_cast<uint32_t>(each >> kPageShift);
    uint32_t page = 0;
    for (int i = 0; i < config.devices; ++i, page += memory->pages_per_device) {
      memory->devices.push_back(std::make_unique<Arena>(&memory->space, page, memory->pages_per_device,
                                                        MemoryKind::kDevice, i, config.bytes_per_device));
    }
    auto mapped_pages = static_cast<uint32_t>(mapped >> kPageShift);
    memory->virtual_memory = std::make_unique<VirtualMemory>(&memory->space, page, mapped_pages);
    memory->pinned =
        std::make_unique<Arena>(&memory->space, page + mapped_pages,
                                static_cast<uint32_t>(pinned >> kPageShift), MemoryKind::kPinned, -1, ram);
    return memory;
  }
  Fail(kOutOfMemory, "memory-addresses-refused",
       "the system refused to reserve addresses for {} devices of {} bytes; is the address space "
       "limited (ulimit -v)?",
       config.devices, config.bytes_per_device);
}

bool Same(const MemoryConfig& a, const MemoryConfig& b) {
  return a.devices == b.devices && a.bytes_per_device == b.bytes_per_device &&
         a.alias_offset == b.alias_offset;
}

void Install(std::unique_ptr<MemoryState> memory) {
  memory->previous = g_memory.load(std::memory_order_relaxed);
  g_memory.store(memory.release(), std::memory_order_release);
}

}  // namespace

void StartMemory(const MemoryConfig& config) {
  std::lock_guard guard(g_start_lock);
  MemoryState* old = g_memory.load(std::memory_order_acquire);
  if (old != nullptr && Same(old->config, config)) return;
  // With other figures after aclFinalize: what is left of the old memory stays where it is, as
  // ordinary host memory.
  Install(NewState(config));
}

void RestartMemoryInChild(const MemoryConfig& config) {
  new (&g_start_lock) std::mutex();
  g_registered.Clear();
  PhysicalMemoryTable& physical = PhysicalMemories();
  physical.ForEach([&](PhysicalMemory& memory) { physical.Retire(physical.HandleOf(&memory)); });
  if (MemoryState* old = g_memory.load(std::memory_order_acquire)) {
    for (auto& device : old->devices) device->ForgetAfterFork();
  }
  Install(NewState(config));
}

void ReleaseDeviceMemory(int device) {
  Arena& arena = DeviceArena(device);
  SharedMemory::Get().BeforeRelease(device);
  Memory().virtual_memory->ReleaseDevice(device);
  arena.Clear();
  Observers::Tell([&](Observer& o) { o.EndedDevice(device); });
}

}  // namespace belay::rt
