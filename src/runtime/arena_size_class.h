// Size classes of an arena. Small blocks (up to 32 KiB) share a 64 KiB page of one class: steps of
// 64 bytes up to 1 KiB, then four classes a doubling. Large blocks are runs of pages: every count
// up to 16, then eight classes a doubling, so at most an eighth of the address range (never of the
// memory, which is taken when touched) is lost to rounding.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace belay::rt {

inline constexpr size_t kPageShift = 16;
inline constexpr size_t kPageBytes = size_t{1} << kPageShift;  // unit of the page table
inline constexpr size_t kHugePageBytes = size_t{2} << 20;
inline constexpr uint32_t kPagesPerHugePage = kHugePageBytes / kPageBytes;
inline constexpr size_t kBlockAlignment = 64;

using SizeClass = uint8_t;
inline constexpr SizeClass kSmallClasses = 36;
inline constexpr size_t kMaxSmallBytes = 32 * 1024;
inline constexpr SizeClass kLargeClasses = 200;
inline constexpr SizeClass kClasses = kSmallClasses + kLargeClasses;
inline constexpr SizeClass kMappedClass = 255;  // a range of virtual memory with physical memory in it

constexpr bool IsSmall(SizeClass c) { return c < kSmallClasses; }

// Buckets with 2^kBits classes a doubling: exact below 2^(kBits+1), then the top kBits+1 bits,
// rounded up.
template <int kBits>
constexpr uint32_t BucketOf(uint64_t n) {
  if (n < (uint64_t{2} << kBits)) return static_cast<uint32_t>(n);
  int shift = std::bit_width(n - 1) - kBits - 1;
  return static_cast<uint32_t>((static_cast<uint64_t>(shift) << kBits) + ((n - 1) >> shift) + 1);
}
template <int kBits>
constexpr uint64_t BucketSize(uint32_t bucket) {
  if (bucket < (2u << kBits)) return bucket;
  uint32_t shift = (bucket >> kBits) - 1;
  return static_cast<uint64_t>(bucket - (shift << kBits)) << shift;
}

// `bytes` is 1 to kMaxSmallBytes.
constexpr SizeClass SmallClassOf(size_t bytes) {
  if (bytes <= 1024) return static_cast<SizeClass>((bytes + 63) / 64 - 1);
  return static_cast<SizeClass>(16 + BucketOf<2>((bytes + 255) / 256) - BucketOf<2>(5));
}
constexpr size_t SmallClassBytes(SizeClass c) {
  if (c < 16) return size_t{64} * (c + 1);
  return 256 * BucketSize<2>(c - 16 + BucketOf<2>(5));
}

constexpr SizeClass LargeClassOf(uint64_t pages) {
  return static_cast<SizeClass>(kSmallClasses + BucketOf<3>(pages) - 1);
}
constexpr uint64_t LargeClassPages(SizeClass c) { return BucketSize<3>(c - kSmallClasses + 1u); }
inline constexpr uint64_t kMaxLargePages = BucketSize<3>(kLargeClasses);

static_assert(SmallClassOf(kMaxSmallBytes) == kSmallClasses - 1);
static_assert(SmallClassBytes(kSmallClasses - 1) == kMaxSmallBytes);

namespace detail {
constexpr auto kSmallBytes = [] {
  std::array<uint32_t, kSmallClasses> table{};
  for (SizeClass c = 0; c < kSmallClasses; ++c) table[c] = SmallClassBytes(c);
  return table;
}();
// floor(x / size) == x * reciprocal >> 32 for every x below a page: reciprocals are rounded up, and
// the error x * size / 2^32 stays below 1 / size.
constexpr auto kReciprocals = [] {
  std::array<uint32_t, kSmallClasses> table{};
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    table[c] = static_cast<uint32_t>(((uint64_t{1} << 32) + kSmallBytes[c] - 1) / kSmallBytes[c]);
  }
  return table;
}();
}  // namespace detail

// Which block of a small class's page holds the byte at `offset` of the page.
constexpr uint32_t BlockIndex(SizeClass c, uint32_t offset) {
  return static_cast<uint32_t>(uint64_t{offset} * detail::kReciprocals[c] >> 32);
}
constexpr uint32_t BlocksPerPage(SizeClass c) { return kPageBytes / detail::kSmallBytes[c]; }

}  // namespace belay::rt
