// A second way to pinned blocks, for a layer that takes a program's access to some of their pages away for a
// while: by the file /proc/self/mem, which reaches pages whatever their protection is.
//
// Copies and fills go this way. What else the runtime does with pinned memory (a word that is waited for)
// does not: who protects pages lets such accesses pass.
#pragma once

#include <atomic>
#include <cstddef>

namespace belay::rt {

// The open file; below 0: there is none, and memory is reached as ever.
extern constinit std::atomic<int> g_pinned_door;
inline bool PinnedHasDoor() { return g_pinned_door.load(std::memory_order_relaxed) >= 0; }

// From now on by this file, which stays open for the life of the process; below 0: no more.
void UsePinnedDoor(int file) noexcept;

// False: nothing there is pinned, or the file is of no use (the program may have closed it), and all is left
// to be done.
[[gnu::cold]] bool CopyByDoor(void* dst, const void* src, size_t bytes) noexcept;
[[gnu::cold]] bool FillByDoor(void* dst, int value, size_t bytes) noexcept;

}  // namespace belay::rt
