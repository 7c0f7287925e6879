// In builds with AddressSanitizer every block has a red zone behind it, and what is not allocated
// is poisoned, so a kernel that runs over the end of its output is caught at the instruction that
// does it. There the documented padding is not granted either: it would hide overruns of a few
// elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/sanitizer.h"

#ifdef BELAY_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace belay::rt {

#ifdef BELAY_ASAN
inline constexpr size_t kRedZone = 64;
inline constexpr bool kGrantPadding = false;
inline void Poison(uintptr_t p, size_t bytes) {
  __asan_poison_memory_region(reinterpret_cast<void*>(p), bytes);
}
inline void Unpoison(uintptr_t p, size_t bytes) {
  __asan_unpoison_memory_region(reinterpret_cast<void*>(p), bytes);
}
#else
inline constexpr size_t kRedZone = 0;
inline constexpr bool kGrantPadding = true;
inline void Poison(uintptr_t, size_t) {}
inline void Unpoison(uintptr_t, size_t) {}
#endif

}  // namespace belay::rt
