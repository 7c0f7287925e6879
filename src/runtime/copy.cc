// Copies and fills at the speed of the memory.
//
//   below 2 MiB       memcpy: glibc's is as good as it gets (but see base/copy_memory.h), and splitting costs
//   more
//                     than it gives
//   2 MiB to 32 MiB   memcpy on several cores: each brings its own cache
//   from 32 MiB up    non-temporal stores on several cores: the copy does not fit the last-level cache, and
//                     an ordinary store reads a line from memory only to overwrite it
//
// The 32 MiB are the cache that one group of cores shares on current servers; what the system
// reports is no guide (virtual machines report the sum of all groups, and so does glibc's own
// limit). Prefetching 2 KiB ahead makes 16-byte stores as fast as 64-byte ones, so no CPU needs a
// version of its own.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/copy_memory.h"
#include "base/parallel.h"
#include "base/sanitizer.h"
#include "runtime/memory.h"
#include "runtime/pinned_door.h"

#if defined(__SSE2__) && !defined(BELAY_ASAN) && !defined(BELAY_TSAN)
#define BELAY_STREAMING_STORES 1
#include <emmintrin.h>
#endif

namespace belay::rt {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kUnit = 4096;  // pieces are whole pages: no two cores write to one line
constexpr size_t kSplitFrom = size_t{2} << 20;
constexpr size_t kSplitGrain = size_t{256} << 10;  // at least, on many cores
constexpr size_t kStreamFrom = size_t{32} << 20;
constexpr size_t kStreamGrain = size_t{4} << 20;

// The sanitizers see through memcpy and not through these stores, so their builds have none.
#ifdef BELAY_STREAMING_STORES
void StreamLines(std::byte* dst, const std::byte* src, size_t bytes) {
  constexpr size_t kAhead = 2048;
  for (size_t i = 0; i < bytes; i += kLine) {
    auto* from = reinterpret_cast<const __m128i*>(src + i);
    auto* to = reinterpret_cast<__m128i*>(dst + i);
    _mm_prefetch(reinterpret_cast<const char*>(src + i + kAhead), _MM_HINT_NTA);
    __m128i a = _mm_loadu_si128(from);
    __m128i b = _mm_loadu_si128(from + 1);
    __m128i c = _mm_loadu_si128(from + 2);
    __m128i d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
  _mm_sfence();
}

void StreamCopy(std::byte* dst, const std::byte* src, size_t bytes) {
  size_t head = std::min(bytes, -reinterpret_cast<uintptr_t>(dst) % kLine);
  std::memcpy(dst, src, head);
  size_t lines = (bytes - head) / kLine * kLine;
  StreamLines(dst + head, src + head, lines);
  std::memcpy(dst + head + lines, src + head + lines, bytes - head - lines);
}
#else
void StreamCopy(std::byte* dst, const std::byte* src, size_t bytes) { std::memcpy(dst, src, bytes); }
#endif

bool Overlap(const std::byte* a, const std::byte* b, size_t bytes) {
  auto x = reinterpret_cast<uintptr_t>(a);
  auto y = reinterpret_cast<uintptr_t>(b);
  return x < y ? y - x < bytes : x - y < bytes;
}

// One piece for each core: what a core copied last time is still in its cache the next time (two
// pieces of 1 MiB: 96 GB/s; eight of 256 KiB, handed out as cores come free: 65).
size_t GrainForCaches(size_t bytes) {
  auto cores = static_cast<size_t>(ParallelWidth());
  return std::max(kSplitGrain, (bytes + cores * kUnit - 1) / (cores * kUnit) * kUnit);
}

// Calls piece(offset, length) for pieces that cover `bytes`.
template <class Piece>
void SplitBytes(size_t bytes, size_t grain, const Piece& piece) {
  auto units = static_cast<int64_t>((bytes + kUnit - 1) / kUnit);
  ParallelFor(units, static_cast<int64_t>(grain / kUnit), [&](int64_t begin, int64_t end) {
    size_t from = static_cast<size_t>(begin) * kUnit;
    piece(from, std::min(static_cast<size_t>(end) * kUnit, bytes) - from);
  });
}

[[gnu::noinline]] void CopyLarge(std::byte* to, const std::byte* from, size_t bytes) {
  if (Overlap(to, from, bytes)) {
    std::memmove(to, from, bytes);
  } else if (bytes >= kStreamFrom) {
    SplitBytes(bytes, kStreamGrain, [&](size_t at, size_t n) { StreamCopy(to + at, from + at, n); });
  } else {
    SplitBytes(bytes, GrainForCaches(bytes), [&](size_t at, size_t n) { CopyMemory(to + at, from + at, n); });
  }
}

}  // namespace

void CopyBytes(void* dst, const void* src, size_t bytes) {
  if (PinnedIsClosed() && CopyByDoor(dst, src, bytes)) [[unlikely]]
    return;
  auto* to = static_cast<std::byte*>(dst);
  const auto* from = static_cast<const std::byte*>(src);
  if (bytes < kSplitFrom) [[likely]] {
    Overlap(to, from, bytes) ? static_cast<void>(std::memmove(dst, src, bytes)) : CopyMemory(dst, src, bytes);
  } else {
    CopyLarge(to, from, bytes);
  }
}

void FillBytes(void* dst, int value, size_t bytes) {
  if (PinnedIsClosed() && FillByDoor(dst, value, bytes)) [[unlikely]]
    return;
  if (bytes < kSplitFrom) [[likely]] {
    std::memset(dst, value, bytes);
    return;
  }
  auto* to = static_cast<std::byte*>(dst);
  SplitBytes(bytes, GrainForCaches(bytes), [&](size_t at, size_t n) { std::memset(to + at, value, n); });
}

}  // namespace belay::rt
