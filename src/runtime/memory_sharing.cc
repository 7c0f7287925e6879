#include "runtime/memory_sharing.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/quiet_write.h"
#include "base/room.h"
#include "base/sanitizer.h"
#include "base/system_limit.h"
#include "runtime/codes.h"
#include "runtime/context.h"
#include "runtime/device_writes.h"
#include "runtime/memory_state.h"
#include "runtime/observer.h"
#include "runtime/settings.h"

namespace belay::rt {
namespace {

// The arena pages that a block lies on.
struct Pages {
  explicit Pages(const MemoryRange& block)
      : first(block.base / kPageBytes * kPageBytes),
        bytes((block.base + block.bytes - first + kPageBytes - 1) / kPageBytes * kPageBytes) {}
  uintptr_t first;
  size_t bytes;
};

// By the system call itself: what lies between blocks is poisoned, and a checked write would stumble over it.
bool WriteUnchecked(int file, size_t offset, const std::byte* from, size_t bytes) {
  QuietWrites quiet;
  for (size_t done = 0; done < bytes;) {
    long n = syscall(SYS_pwrite64, file, from + done, bytes - done, offset + done);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// ThreadSanitizer takes a mapping for a write to all of its bytes; here they stay what they are.
void* MapUnchecked(void* at, size_t bytes, int flags, int file, size_t offset) {
#ifdef BELAY_TSAN
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, flags, file, offset));
#else
  return mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, static_cast<off_t>(offset));
#endif
}

// `file` (-1: fresh anonymous memory) on these addresses, and on their second view if there is one.
bool MapAt(uintptr_t address, size_t bytes, int file, size_t file_offset = 0) {
  ptrdiff_t alias = Memory().space.alias_offset();
  int flags = MAP_FIXED | MAP_NORESERVE | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  for (ptrdiff_t offset : {ptrdiff_t{0}, alias}) {
    void* at = reinterpret_cast<void*>(address + static_cast<uintptr_t>(offset));
    if (MapUnchecked(at, bytes, flags, file, file_offset) == MAP_FAILED) return false;
    madvise(at, bytes, MADV_DONTFORK);
    if (file < 0) madvise(at, bytes, MADV_HUGEPAGE);
    if (alias == 0) break;
  }
  return true;
}

// Piece by piece, so that memory for one piece more is enough. What was moved before a refusal stays so.
bool MoveBytes(uintptr_t first, size_t bytes, int file) {
  constexpr size_t kPiece = size_t{32} << 20;
  const auto* now = static_cast<const std::byte*>(View(reinterpret_cast<const void*>(first), bytes));
  for (size_t done = 0; done < bytes; done += kPiece) {
    const size_t piece = std::min(kPiece, bytes - done);
    if (!WriteUnchecked(file, done, now + done, piece) || !MapAt(first + done, piece, file, done))
      return false;
#ifdef MADV_POPULATE_WRITE
    // The pages are there; found one by one, each costs a fault. Where that is refused they are.
    madvise(reinterpret_cast<void*>(first + done), piece, MADV_POPULATE_WRITE);
#endif
  }
  return true;
}

[[noreturn]] void FailMove(int file, size_t bytes) {
  int why = errno;
  if (file >= 0) close(file);
  Fail(CodeOfRefusal(why), "share-system", "the system gave no memory file for {} bytes to share ({})", bytes,
       ExplainRefusal(why));
}

}  // namespace

int NumberAmongAll(int device) { return CurrentSettings().visible[static_cast<size_t>(device)]; }
int VisibleDevice(int number) {
  const std::vector<int>& visible = CurrentSettings().visible;
  auto it = std::find(visible.begin(), visible.end(), number);
  return it == visible.end() ? -1 : static_cast<int>(it - visible.begin());
}

SharedMemory& SharedMemory::Get() { return PerProcess<SharedMemory>::Get(); }

// --- exporting

// Pages that were moved once, whose blocks have all gone since: a block of another size is there now.
void SharedMemory::ForgetStale(uintptr_t first, size_t bytes) {
  auto range = moved_.lower_bound(first);
  if (range != moved_.begin() && std::prev(range)->first + std::prev(range)->second.bytes > first) --range;
  while (range != moved_.end() && range->first < first + bytes) {
    if (range->second.file >= 0) close(range->second.file);
    if (range->second.shown) --shown_count_;
    range = moved_.erase(range);
    moved_count_.fetch_sub(1, std::memory_order_release);
  }
}

SharedMemory::MovedRanges::iterator SharedMemory::Known(const MemoryRange& block) {
  const Pages pages(block);
  auto known = moved_.find(pages.first);
  const bool fits = known != moved_.end() && known->second.bytes == pages.bytes && known->second.file >= 0;
  return fits ? known : moved_.end();
}

SharedMemory::MovedRanges::iterator SharedMemory::Move(const MemoryRange& block) {
  const auto [first, bytes] = Pages(block);
  MovedRanges made;  // while nothing has changed yet
  made.emplace(first, Moved{.bytes = bytes, .file = -1, .device = block.device});
  int file = memfd_create("belay-shared-memory", MFD_CLOEXEC);
  struct stat about {};
  if (file < 0 || !SizeToMap(file, bytes) || fstat(file, &about) != 0) FailMove(file, bytes);
  ForgetStale(first, bytes);
  moved_count_.fetch_add(1, std::memory_order_release);
  auto range = moved_.insert(made.extract(made.begin())).position;
  if (!MoveBytes(first, bytes, file)) FailMove(file, bytes);
  range->second.file = file;
  range->second.file_device = about.st_dev;
  range->second.inode = about.st_ino;
  return range;
}

OfferName SharedMemory::Export(void* p, size_t bytes, bool anybody) {
  if (Observers::any()) [[unlikely]]
    TellWrittenUnseen(p);
  {
    std::lock_guard guard(lock_);
    const MemoryRange block = CheckExport(p, bytes);
    Sweep();
    if (auto range = Known(block); range != moved_.end()) return Offer(p, bytes, anybody, block, range);
  }
  NoDeviceWrites no_writes;
  std::lock_guard guard(lock_);
  const MemoryRange block = CheckExport(p, bytes);
  auto range = Known(block);
  return Offer(p, bytes, anybody, block, range != moved_.end() ? range : Move(block));
}

MemoryRange SharedMemory::CheckExport(const void* p, size_t bytes) {
  if (bytes == 0) Fail(kBadArgument, "memory-size-zero", "size is 0");
  MemoryRange block = CheckRange(p, bytes, "devPtr");
  bool ours =
      block.kind == MemoryKind::kDevice && Memory().ArenaOf(reinterpret_cast<uintptr_t>(p)) != nullptr;
  if (!ours) {
    Fail(kBadArgument, "share-not-a-block",
         "devPtr is {}; memory of aclrtMalloc can be exported so (memory of aclrtMallocPhysical by "
         "aclrtMemExportToShareableHandle)",
         DescribeAddress(p));
  }
  return block;
}

OfferName SharedMemory::Offer(const void* p, size_t bytes, bool anybody, const MemoryRange& block,
                              MovedRanges::iterator range) {
  try {
    MakeRoomFor(exported_, exported_.size() + 1);
    range->second.offered = true;
    OfferName name = Offers::Get().Add({OfferKind::kBlock, range->second.file, NumberAmongAll(block.device),
                                        anybody, reinterpret_cast<uintptr_t>(p) - range->first, bytes});
    exported_.push_back({block.base, range->first, block.device, name});
    return name;
  } catch (...) {
    CloseFile(range->first);
    throw;
  }
}

// --- showing

// From the third time on, for the sake of programs that make a block for every call; and when that failed,
// less and less often.
bool SharedMemory::IsToBeShown(const MemoryRange& block) {
  constexpr uint32_t kUses = 3;
  Use& use = uses_[block.base / kPageBytes % std::size(uses_)];
  if (use.block != block.base || use.serial != block.serial) use = {block.base, block.serial, 0};
  const uint32_t times = ++use.times;
  return times == kUses || (times > kUses && (times & (times - 1)) == 0);
}

// Under lock_, while no task runs.
void SharedMemory::MoveToShow(const MemoryRange& block) {
  constexpr size_t kMostShown = 128;  // each is an open file
  if (shown_count_ >= kMostShown) return;
  auto range = Known(block);
  if (range == moved_.end()) range = Move(block);
  if (!range->second.shown) ++shown_count_;
  range->second.shown = true;
}

void SharedMemory::Show(const void* p, size_t bytes) noexcept {
  constexpr int64_t kPatienceNs = 2'000'000;
  try {
    auto wanted = [&]() -> std::optional<MemoryRange> {
      const MemoryRange block = Lookup(p, bytes);
      const auto address = reinterpret_cast<uintptr_t>(p);
      const bool fits = block.live && block.kind == MemoryKind::kDevice && block.bytes >= kLeastShown &&
                        block.Remaining(p) >= bytes && Memory().ArenaOf(address) != nullptr &&
                        Memory().space.alias_offset() == 0 && HasAllPages(block.base, Pages(block).bytes);
      return fits ? std::optional(block) : std::nullopt;
    };
    {
      std::lock_guard guard(lock_);
      const auto block = wanted();
      if (!block) return;
      auto range = Known(*block);
      if ((range != moved_.end() && range->second.shown) || !IsToBeShown(*block)) return;
    }
    NoDeviceWrites no_writes(kPatienceNs);
    if (!no_writes.held()) return;
    std::lock_guard guard(lock_);
    if (const auto block = wanted()) MoveToShow(*block);
  } catch (const std::exception&) {  // there is another way for the data
  }
}

SharedMemory::MovedRanges::iterator SharedMemory::RangeAround(uintptr_t address) {
  auto range = moved_.upper_bound(address);
  if (range == moved_.begin()) return moved_.end();
  --range;
  return address - range->first < range->second.bytes ? range : moved_.end();
}

std::optional<FilePlace> SharedMemory::PlaceOf(const void* p, size_t bytes) noexcept {
  if (moved_count_.load(std::memory_order_acquire) == 0) return std::nullopt;
  const auto address = reinterpret_cast<uintptr_t>(p);
  std::lock_guard guard(lock_);
  const auto range = RangeAround(address);
  if (range == moved_.end() || !range->second.shown || range->second.file < 0) return std::nullopt;
  const Moved& moved = range->second;
  if (bytes > moved.bytes - (address - range->first)) return std::nullopt;
  return FilePlace{getpid(), moved.file, moved.file_device, moved.inode, moved.bytes, address - range->first};
}

// Fresh memory that nobody else sees; where a device has two views of its memory, a file again.
bool SharedMemory::MoveBack(MovedRanges::iterator range) {
  int file = -1;
  if (Memory().space.alias_offset() != 0) {
    file = memfd_create("belay-device-memory", MFD_CLOEXEC);
    if (file < 0) return false;
    if (!SizeToMap(file, range->second.bytes)) {
      close(file);
      return false;
    }
  }
  bool moved = MapAt(range->first, range->second.bytes, file);
  if (file >= 0) close(file);
  if (!moved) return false;
  if (range->second.file >= 0) {
    // Ranks of a group may have it mapped, and would keep memory that nobody looks at.
    if (!range->second.offered)
      fallocate(range->second.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                static_cast<off_t>(range->second.bytes));
    close(range->second.file);
  }
  if (range->second.shown) --shown_count_;
  moved_.erase(range);
  moved_count_.fetch_sub(1, std::memory_order_release);
  return true;
}

// Whether other processes may have a part of the block.
bool SharedMemory::IsSeen(uintptr_t block) const {
  return std::any_of(withdrawn_.begin(), withdrawn_.end(),
                     [&](const Exported& e) { return e.block == block; });
}

void SharedMemory::Withdraw(const Exported& exported) {
  Offers::Get().Withdraw(exported.name);
  withdrawn_.push_front(exported);
}

// Looks at a few of those that were withdrawn, and at others next time.
void SharedMemory::Sweep() {
  constexpr size_t kAtATime = 8;
  for (size_t left = std::min(kAtATime, withdrawn_.size()); left != 0; --left) {
    const Exported first = withdrawn_.front();
    const bool over = Offers::Get().TryRelease(first.name);
    if (!over) withdrawn_.push_back(first);  // for which there may be no memory
    withdrawn_.pop_front();
    if (!over) continue;
    if (!IsSeen(first.block) && resting_.erase(first.block) != 0)
      DeviceArena(first.device).Reuse(first.block);
    CloseFile(first.range);
  }
}

// When no export needs it: neither one that stands nor one that others have imported.
void SharedMemory::CloseFile(uintptr_t range) {
  auto needs = [&](const Exported& e) { return e.range == range; };
  auto moved = moved_.find(range);
  if (moved == moved_.end() || moved->second.file < 0 || moved->second.shown ||
      std::any_of(exported_.begin(), exported_.end(), needs) ||
      std::any_of(withdrawn_.begin(), withdrawn_.end(), needs)) {
    return;
  }
  close(moved->second.file);
  moved->second.file = -1;
}

// Whether nobody but the block at `address`, where the pages begin, has a part of them. They may be those of
// a larger block that was there before, and could not be moved back.
bool SharedMemory::HasAllPages(uintptr_t address, size_t bytes) {
  const AddressSpace& space = Memory().space;
  const SizeClass c = space.entry(space.PageOf(address)).size_class();
  return !IsSmall(c) && bytes <= LargeClassPages(c) << kPageShift;
}

bool SharedMemory::FreeShared(Arena& arena, uintptr_t address) {
  std::lock_guard guard(lock_);
  MemoryRange block = Lookup(reinterpret_cast<const void*>(address));
  if (!block.live || block.base != address) return false;
  std::erase_if(exported_, [&](const Exported& e) {
    if (e.block != address) return false;
    Withdraw(e);
    return true;
  });
  auto range = moved_.find(address);
  if (range != moved_.end() && HasAllPages(address, range->second.bytes) && MoveBack(range)) {
    std::erase_if(withdrawn_, [&](const Exported& e) {
      if (e.block != address) return false;
      Offers::Get().Release(e.name);
      return true;
    });
  }
  Sweep();
  bool seen = IsSeen(address);
  if (seen) resting_.insert(address);
  return arena.Free(address, !seen);
}

// Exports of memory that is not in their files any more.
void SharedMemory::ReleaseExports(int device) {
  std::erase_if(exported_, [&](const Exported& e) {
    if (e.device != device) return false;
    Withdraw(e);
    return true;
  });
  std::erase_if(withdrawn_, [&](const Exported& e) {
    if (e.device != device || moved_.contains(e.range)) return false;
    if (resting_.erase(e.block) != 0) DeviceArena(device).Reuse(e.block);
    Offers::Get().Release(e.name);
    return true;
  });
}

void SharedMemory::BeforeRelease(int device) {
  std::lock_guard guard(lock_);
  std::erase_if(imported_, [&](const Imported& i) {
    if (i.device != device) return false;
    Memory().virtual_memory->UnmapFile(i.mapping);
    return true;
  });
  for (auto range = moved_.begin(); range != moved_.end();) {
    auto next = std::next(range);
    if (range->second.device == device) MoveBack(range);
    range = next;
  }
  ReleaseExports(device);
}

// --- importing

void* SharedMemory::Import(const OfferName& name, int* device) {
  ForeignOffer offer = OpenOffer(name, OfferKind::kBlock);
  std::lock_guard guard(lock_);
  bool twice =
      std::any_of(imported_.begin(), imported_.end(), [&](const Imported& i) { return i.name == name; });
  if (twice) {
    Fail(kBadArgument, "share-twice",
         "this process has imported the key already; use the address that it got");
  }
  int visible = VisibleDevice(offer.record.device);
  *device = visible >= 0 ? visible : CurrentDeviceOrZero();
  int file = offer.TakeMemory();
  void* p = Memory().virtual_memory->MapFile(file, offer.record.offset, offer.record.bytes, *device);
  imported_.push_back({name, p, *device, std::move(offer)});
  return p;
}

void SharedMemory::Close(const OfferName& name) {
  std::lock_guard guard(lock_);
  auto exported =
      std::find_if(exported_.begin(), exported_.end(), [&](const Exported& e) { return e.name == name; });
  if (exported != exported_.end()) {
    Withdraw(*exported);
    exported_.erase(exported);
    return Sweep();
  }
  auto imported =
      std::find_if(imported_.begin(), imported_.end(), [&](const Imported& i) { return i.name == name; });
  if (imported == imported_.end()) {
    Fail(kNoSuchOffer, "share-not-open",
         "this process has neither exported nor imported '{}', or closed it already", KeyOf(name));
  }
  Memory().virtual_memory->UnmapFile(imported->mapping);
  imported_.erase(imported);
}

}  // namespace belay::rt
