// Copies between places that do not overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace belay {

// As memcpy. Where the destination lies less than a cache line behind the source within their pages (blocks
// of memory begin with a page, so whatever is moved by an element does), the instruction by which glibc
// copies from 2 KiB on takes fifteen times as long on some processors (Zen 3 and 4); shorter pieces are
// copied by vectors.
inline void CopyMemory(void* to, const void* from, size_t bytes) {
  constexpr size_t kPage = 4096, kLine = 64, kPiece = 2048;
  const size_t behind = (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % kPage;
  if (bytes <= kPiece || behind == 0 || behind >= kLine) [[likely]] {
    std::memcpy(to, from, bytes);
    return;
  }
  for (size_t at = 0; at < bytes; at += kPiece) {
    std::memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at,
                std::min(kPiece, bytes - at));
  }
}

}  // namespace belay
