// A second way to pinned blocks, for a layer that takes a program's access to some of their pages away for a
// while: by the file /proc/self/mem, which reaches pages whatever their protection is.
//
// Copies and fills go this way while something is closed to them. What else the runtime does with pinned
// memory (a word that is waited for) does not, nor does a copy that began before: who protects pages lets
// such accesses pass.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace belay::rt {

// To what some page is closed.
enum class PinnedClosed : uint8_t { kToNothing, kToStores, kToAll };
extern constinit std::atomic<PinnedClosed> g_pinned_closed;
inline bool PinnedIsClosed() {
  return g_pinned_closed.load(std::memory_order_relaxed) != PinnedClosed::kToNothing;
}
// Told before the first page is closed, and after the last one was opened.
void SetPinnedClosed(PinnedClosed closed) noexcept;

// By this file, which stays open for the life of the process; below 0: no more.
void UsePinnedDoor(int file) noexcept;

// False: nothing there is closed, or the file is of no use (the program may have closed it), and all is left
// to be done.
[[gnu::cold]] bool CopyByDoor(void* dst, const void* src, size_t bytes) noexcept;
[[gnu::cold]] bool FillByDoor(void* dst, int value, size_t bytes) noexcept;

}  // namespace belay::rt
