// The layout of an `.om` file. All numbers are little-endian; docs/om.md explains them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace belay::graph::om {

inline constexpr char kMagic[8] = {'B', 'E', 'L', 'A', 'Y', '-', 'O', 'M'};
inline constexpr uint32_t kVersion = 2;  // 2: weights may be packed
inline constexpr uint32_t kOldestVersion = 1;
inline constexpr size_t kAlignment = 64;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t file_bytes;
  uint64_t text_offset, text_bytes, text_sum;
  uint64_t data_offset, data_bytes, data_sum;
  uint64_t header_sum;  // of what stands before it
  uint8_t reserved[48];
};
static_assert(sizeof(Header) == 128);

inline uint64_t Checksum(std::span<const std::byte> bytes) {
  uint64_t sum = 0xcbf29ce484222325 ^ bytes.size();
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    __builtin_memcpy(&word, bytes.data() + i, 8);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 29;
  }
  for (; i < bytes.size(); ++i) sum = (sum ^ static_cast<uint64_t>(bytes[i])) * 0x100000001b3;
  return sum;
}

}  // namespace belay::graph::om
