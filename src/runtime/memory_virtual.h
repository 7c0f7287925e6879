// Virtual memory: address ranges that a program reserves, physical memory that it maps into them
// piece by piece (aclrtReserveMemAddress, aclrtMallocPhysical, aclrtMapMem). Real mappings of
// memory files, so that two ranges, and later two processes, can show the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/handle_table.h"
#include "runtime/arena_pages.h"
#include "runtime/arena_ranges.h"
#include "runtime/offers.h"

namespace belay::rt {

inline constexpr size_t kPhysicalGranularity = kHugePageBytes;

// Physical memory: charged to its device until it is freed and no range shows it any more.
class PhysicalMemory {
 public:
  PhysicalMemory(int file, int device, size_t bytes, bool charged)
      : file(file), device(device), bytes(bytes), charged(charged) {}
  const int file;
  const int device;
  const size_t bytes;
  const bool charged;  // to the device of this process: imported memory is another's
  uint32_t users = 1;  // its handle, and each mapping; under VirtualMemory's lock
  bool freed = false;  // its handle is gone
  OfferName offer;     // to other processes, if it is one
};

using PhysicalMemoryTable = HandleTable<PhysicalMemory, HandleKind::kPhysicalMemory, 1u << 20>;
PhysicalMemoryTable& PhysicalMemories();

class VirtualMemory {
 public:
  // `first` and `count`: the pages of `space` that ranges are reserved from.
  VirtualMemory(AddressSpace* space, uint32_t first, uint32_t count);

  // All throw Error for what cannot be done.
  void* Reserve(size_t bytes,
                void* wanted);  // `wanted`: null, or an address, which counts where it is one here
  void Release(void* range);
  HandleBits CreatePhysical(int device, size_t bytes);
  void FreePhysical(PhysicalMemory& memory);
  void Map(void* at, size_t bytes, size_t offset, PhysicalMemory& memory);
  void Unmap(void* at);

  // Memory of aclrtMallocPhysical for other processes, and theirs in this one, which takes over the file.
  OfferName Export(PhysicalMemory& memory, bool anybody);
  HandleBits ImportPhysical(int file, int device, size_t bytes);
  // Shows `bytes` from `offset` of a file, which it takes over, in a range of its own.
  void* MapFile(int file, uint64_t offset, size_t bytes, int device);
  void UnmapFile(void* p);

  // Unmaps and frees all memory of one device.
  void ReleaseDevice(int device);

 private:
  struct Mapping {
    uint32_t pages;
    uint32_t reservation;  // first page of the range
    PhysicalMemory* memory;
  };
  using Mappings = std::map<uint32_t, Mapping>;

  std::map<uint32_t, uint32_t>::iterator ReservationOf(uintptr_t address);
  void* ReserveLocked(size_t bytes, void* wanted);
  void Remap(uint32_t first, uint32_t pages, const PhysicalMemory* memory, size_t offset, size_t bytes);
  Mappings::iterator Erase(Mappings::iterator mapping);
  void Drop(PhysicalMemory* memory);

  AddressSpace& space_;
  std::mutex lock_;
  FreeRanges free_;
  std::map<uint32_t, uint32_t> reserved_;  // first page -> pages
  Mappings mapped_;                        // by first page
};

}  // namespace belay::rt
