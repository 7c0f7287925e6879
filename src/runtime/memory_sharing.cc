#include "runtime/memory_sharing.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/fork.h"
#include "base/quiet_write.h"
#include "runtime/context.h"
#include "runtime/memory_state.h"
#include "runtime/settings.h"

namespace belay::rt {
namespace {

constexpr int kBadArgument = 100000;
constexpr int kNoSuchOffer = 107017;
constexpr int kSharingFailed = 507022;

// By the system call itself: what lies between blocks is poisoned, and a checked write would stumble over it.
bool WriteAll(int file, const std::byte* from, size_t bytes) {
  QuietWrites quiet;
  for (size_t done = 0; done < bytes;) {
    long n = syscall(SYS_pwrite64, file, from + done, bytes - done, done);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// `file` (-1: fresh anonymous memory) on these addresses, and on their second view if there is one.
bool MapAt(uintptr_t address, size_t bytes, int file) {
  ptrdiff_t alias = Memory().space.alias_offset();
  int flags = MAP_FIXED | MAP_NORESERVE | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  for (ptrdiff_t offset : {ptrdiff_t{0}, alias}) {
    void* at = reinterpret_cast<void*>(address + static_cast<uintptr_t>(offset));
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, 0) == MAP_FAILED) return false;
    madvise(at, bytes, MADV_DONTFORK);
    if (file < 0) madvise(at, bytes, MADV_HUGEPAGE);
    if (alias == 0) break;
  }
  return true;
}

[[noreturn]] void FailMove(int file, size_t bytes) {
  int why = errno;
  if (file >= 0) close(file);
  Fail(kSharingFailed, "share-system", "the system gave no memory file for {} bytes to share (errno {})",
       bytes, why);
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

SharedMemory::MovedRanges::iterator SharedMemory::Move(const MemoryRange& block) {
  uintptr_t first = block.base / kPageBytes * kPageBytes;
  size_t bytes = (block.base + block.bytes - first + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (auto known = moved_.find(first); known != moved_.end()) return known;
  int file = memfd_create("belay-shared-memory", MFD_CLOEXEC);
  const auto* now = static_cast<const std::byte*>(View(reinterpret_cast<const void*>(first), bytes));
  if (file < 0 || !SizeQuietly(file, bytes) || !WriteAll(file, now, bytes) || !MapAt(first, bytes, file)) {
    FailMove(file, bytes);
  }
  moved_count_.fetch_add(1, std::memory_order_release);
  return moved_.emplace(first, Moved{bytes, file, block.device}).first;
}

OfferName SharedMemory::Export(void* p, size_t bytes, bool anybody) {
  if (bytes == 0) Fail(kBadArgument, "memory-size-zero", "size is 0");
  std::lock_guard guard(lock_);
  MemoryRange block = CheckRange(p, bytes, "devPtr");
  bool ours =
      block.kind == MemoryKind::kDevice && Memory().ArenaOf(reinterpret_cast<uintptr_t>(p)) != nullptr;
  if (!ours) {
    Fail(kBadArgument, "share-not-a-block",
         "devPtr is {}; memory of aclrtMalloc can be exported so (memory of aclrtMallocPhysical by "
         "aclrtMemExportToShareableHandle)",
         DescribeAddress(p));
  }
  auto range = Move(block);
  OfferName name = Offers::Get().Add({OfferKind::kBlock, range->second.file, NumberAmongAll(block.device),
                                      anybody, reinterpret_cast<uintptr_t>(p) - range->first, bytes});
  exported_.push_back({block.base, block.device, name});
  return name;
}

// Fresh memory that nobody else sees; where a device has two views of its memory, a file again.
void SharedMemory::MoveBack(MovedRanges::iterator range) {
  int file = -1;
  if (Memory().space.alias_offset() != 0) {
    file = memfd_create("belay-device-memory", MFD_CLOEXEC);
    if (file < 0) return;
    if (!SizeQuietly(file, range->second.bytes)) {
      close(file);
      return;
    }
  }
  bool moved = MapAt(range->first, range->second.bytes, file);
  if (file >= 0) close(file);
  if (!moved) return;
  close(range->second.file);
  moved_.erase(range);
  moved_count_.fetch_sub(1, std::memory_order_release);
}

void SharedMemory::ForgetBlock(uintptr_t address) {
  std::lock_guard guard(lock_);
  MemoryRange block = Lookup(reinterpret_cast<const void*>(address));
  if (!block.live || block.base != address) return;  // the free will be refused
  std::erase_if(exported_,
                [&](const Exported& e) { return e.block == address && Offers::Get().Withdraw(e.name); });
  auto range = moved_.find(address);
  const AddressSpace& space = Memory().space;
  bool own_pages = range != moved_.end() && !IsSmall(space.entry(space.PageOf(address)).size_class());
  if (own_pages) MoveBack(range);
}

void SharedMemory::BeforeRelease(int device) {
  std::lock_guard guard(lock_);
  std::erase_if(exported_, [&](const Exported& e) {
    if (e.device != device) return false;
    Offers::Get().Withdraw(e.name);
    return true;
  });
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
}

// --- importing

void* SharedMemory::Import(const OfferName& name, int* device) {
  ForeignOffer offer = OpenOffer(name, OfferKind::kBlock);
  std::lock_guard guard(lock_);
  bool twice =
      std::any_of(imported_.begin(), imported_.end(), [&](const Imported& i) { return i.name == name; });
  if (twice) {
    close(offer.file);
    Fail(kBadArgument, "share-twice",
         "this process has imported the key already; use the address that it got");
  }
  int visible = VisibleDevice(offer.record.device);
  *device = visible >= 0 ? visible : CurrentDeviceOrZero();
  void* p = Memory().virtual_memory->MapFile(offer.file, offer.record.offset, offer.record.bytes, *device);
  imported_.push_back({name, p, *device});
  return p;
}

void SharedMemory::Close(const OfferName& name) {
  std::lock_guard guard(lock_);
  auto exported =
      std::find_if(exported_.begin(), exported_.end(), [&](const Exported& e) { return e.name == name; });
  if (exported != exported_.end()) {
    Offers::Get().Withdraw(name);
    exported_.erase(exported);
    return;
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
