// Device memory that other processes see: blocks of aclrtMalloc by key, and memory of aclrtMallocPhysical
// by number. Both are mappings of one memory file in two processes.
//
// Ordinary blocks are anonymous memory, for the sake of huge pages. Exporting one moves the arena pages it
// lies on to a memory file, at the same address; when a block with pages of its own is freed they become
// anonymous again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/memory.h"
#include "runtime/offers.h"

namespace belay::rt {

class SharedMemory {
 public:
  static SharedMemory& Get();

  // The caller has seen to it that no task is running on the block's device.
  OfferName Export(void* p, size_t bytes, bool anybody);
  // Memory of another process; *device is what it belongs to here.
  void* Import(const OfferName& name, int* device);
  // Ends an export or an import of this process. Throws when there is none.
  void Close(const OfferName& name);

  // The block at `address` is about to be freed, the memory of a device to be released.
  void BeforeFree(uintptr_t address) {
    if (moved_count_.load(std::memory_order_acquire) != 0) ForgetBlock(address);
  }
  void BeforeRelease(int device);

 private:
  // Arena pages that were moved to a file.
  struct Moved {
    size_t bytes;
    int file;
    int device;
  };
  struct Exported {
    uintptr_t block;
    int device;
    OfferName name;
  };
  struct Imported {
    OfferName name;
    void* mapping;
    int device;
  };
  using MovedRanges = std::map<uintptr_t, Moved>;

  MovedRanges::iterator Move(const MemoryRange& block);
  void MoveBack(MovedRanges::iterator range);
  void ForgetBlock(uintptr_t address);

  std::mutex lock_;
  std::atomic<size_t> moved_count_{0};
  MovedRanges moved_;  // by address
  std::vector<Exported> exported_;
  std::vector<Imported> imported_;
};

// The number of a device among all devices of the machine, and back; -1 when it is not visible here.
int NumberAmongAll(int device);
int VisibleDevice(int number);

}  // namespace belay::rt
