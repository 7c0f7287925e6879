// All memory of the process, behind one pointer: a forked child makes a new one and forgets the
// old.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/arena.h"
#include "runtime/arena_pages.h"
#include "runtime/memory.h"
#include "runtime/memory_registered.h"
#include "runtime/memory_virtual.h"

namespace belay::rt {

struct MemoryState {
  AddressSpace space;
  MemoryConfig config{};
  std::vector<std::unique_ptr<Arena>> devices;
  std::unique_ptr<VirtualMemory> virtual_memory;
  std::unique_ptr<Arena> pinned;
  uint32_t pages_per_device = 0;
  MemoryState* previous = nullptr;  // what this one replaced; never used again, never freed

  // Which arena an address lies in, whether or not it is in a block; null: the virtual range.
  Arena* ArenaOf(uintptr_t address) const {
    uint32_t page = space.PageOf(address);
    if (page / pages_per_device < devices.size()) return devices[page / pages_per_device].get();
    return space.IsDevice(address) ? nullptr : pinned.get();
  }
};

// Null before the first aclInit. Never freed.
extern constinit std::atomic<MemoryState*> g_memory;
extern constinit RegisteredRanges g_registered;

// Throws Error 100001 before StartMemory.
MemoryState& Memory();
// Throws Error 107001 for a device that there is not.
Arena& DeviceArena(int device);
// Throws Error 207001 where the device's allowance does not reach.
void CheckAllowance(const Arena& arena, size_t bytes);

}  // namespace belay::rt
