// Whether other processes wait for what this one does, on cores that they have in common: then who has
// nothing to do leaves its core to them at once.
#pragma once

#include <atomic>

namespace belay::rt {

extern std::atomic<int> g_shared_cores;  // how many reasons there are

inline void BeginToShareCores() { g_shared_cores.fetch_add(1, std::memory_order_relaxed); }
inline void EndToShareCores() { g_shared_cores.fetch_sub(1, std::memory_order_relaxed); }
inline bool SharesCores() { return g_shared_cores.load(std::memory_order_relaxed) > 0; }

}  // namespace belay::rt
