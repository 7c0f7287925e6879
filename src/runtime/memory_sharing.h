// Device memory that other processes see: blocks of aclrtMalloc by key, and memory of aclrtMallocPhysical
// by number. Both are mappings of one memory file in two processes.
//
// Ordinary blocks are anonymous memory, for the sake of huge pages. Exporting one moves the arena pages it
// lies on to a memory file, at the same address; when a block with pages of its own is freed they become
// anonymous again, and importers keep the file. A small block shares its pages: when it is freed, its bytes
// rest until nobody has it imported any more. The file is closed when no export of its pages is in use.
//
// Blocks that collectives of several processes use again and again are moved the same way, without a name
// that anybody could import: the others of the group open the file themselves (collective/peer_memory.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/arena.h"
#include "runtime/foreign_offer.h"
#include "runtime/memory.h"
#include "runtime/offers.h"

namespace belay::rt {

// Where a piece of device memory lies in a memory file, for other processes of the machine.
struct FilePlace {
  int32_t process = 0;
  int32_t file = -1;               // a descriptor of that process
  uint64_t device = 0, inode = 0;  // what it has to be, for the number may be another file's by now
  uint64_t file_bytes = 0;
  uint64_t offset = 0;
};

class SharedMemory {
 public:
  // A block of fewer bytes is not worth a file.
  static constexpr size_t kLeastShown = size_t{256} << 10;

  static SharedMemory& Get();

  // Waits until no task runs, if pages have to be moved. The caller holds no lock that a task may ask for.
  OfferName Export(void* p, size_t bytes, bool anybody);
  // Memory of another process; *device is what it belongs to here.
  void* Import(const OfferName& name, int* device);
  // Ends an export or an import of this process. Throws when there is none.
  void Close(const OfferName& name);

  // The memory is about to be used by processes of a group. A block that has been so for several times is
  // moved to a file, when no task runs or those that do end soon. What cannot be moved stays where it is.
  void Show(const void* p, size_t bytes) noexcept;
  // Empty where the memory does not lie in one file that was made by Show.
  std::optional<FilePlace> PlaceOf(const void* p, size_t bytes) noexcept;

  // arena.Free, and the end of the block's exports.
  bool Free(Arena& arena, uintptr_t address) {
    if (moved_count_.load(std::memory_order_acquire) == 0) return arena.Free(address);
    return FreeShared(arena, address);
  }
  // The memory of a device is about to be released.
  void BeforeRelease(int device);

 private:
  // Arena pages that were moved to a file.
  struct Moved {
    size_t bytes;
    int file;  // -1: closed, for no export needs it
    int device;
    bool shown = false;    // by Show, and so kept open
    bool offered = false;  // by Export: others may have it for longer than the block lives
    uint64_t file_device = 0, inode = 0;
  };
  // How often a block was to be shown.
  struct Use {
    uintptr_t block = 0;
    uint64_t serial = 0;
    uint32_t times = 0;
  };
  struct Exported {
    uintptr_t block;
    uintptr_t range;  // of Moved
    int device;
    OfferName name;
  };
  struct Imported {
    OfferName name;
    void* mapping;
    int device;
    ForeignOffer offer;  // held until the mapping has gone
  };
  using MovedRanges = std::map<uintptr_t, Moved>;

  static MemoryRange CheckExport(const void* p, size_t bytes);
  OfferName Offer(const void* p, size_t bytes, bool anybody, const MemoryRange& block,
                  MovedRanges::iterator range);
  MovedRanges::iterator Known(const MemoryRange& block);
  MovedRanges::iterator Move(const MemoryRange& block);
  bool IsToBeShown(const MemoryRange& block);
  void MoveToShow(const MemoryRange& block);
  MovedRanges::iterator RangeAround(uintptr_t address);
  static bool HasAllPages(uintptr_t address, size_t bytes);
  void ForgetStale(uintptr_t first, size_t bytes);
  bool MoveBack(MovedRanges::iterator range);
  bool FreeShared(Arena& arena, uintptr_t address);
  bool IsSeen(uintptr_t block) const;
  void Withdraw(const Exported& exported);
  void Sweep();
  void CloseFile(uintptr_t range);
  void ReleaseExports(int device);

  std::mutex lock_;
  std::atomic<size_t> moved_count_{0};
  MovedRanges moved_;  // by address
  std::vector<Exported> exported_;
  std::deque<Exported> withdrawn_;  // that others had imported when last looked at
  std::set<uintptr_t> resting_;     // blocks that are freed, and not used again yet
  std::vector<Imported> imported_;
  size_t shown_count_ = 0;
  Use uses_[128];
};

// The number of a device among all devices of the machine, and back; -1 when it is not visible here.
int NumberAmongAll(int device);
int VisibleDevice(int number);

}  // namespace belay::rt
