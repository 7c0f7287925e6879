// A number that stands for bytes: the same for the same bytes, given in the same pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace belay::layers {

class Digest {
 public:
  void Add(const void* begin, size_t bytes) {
    const auto* at = static_cast<const std::byte*>(begin);
    uint64_t lanes[kLanes];
    std::memcpy(lanes, lanes_, sizeof lanes);
    for (; bytes >= sizeof lanes; at += sizeof lanes, bytes -= sizeof lanes) {
      uint64_t words[kLanes];
      std::memcpy(words, at, sizeof words);
#pragma GCC unroll 4
      for (size_t i = 0; i < kLanes; ++i) lanes[i] = Mixed(lanes[i] ^ words[i]);
    }
    std::memcpy(lanes_, lanes, sizeof lanes);
    for (size_t i = 0; bytes != 0; ++i) {
      uint64_t word = bytes;
      const size_t taken = std::min<size_t>(bytes, 8);
      std::memcpy(&word, at, taken);
      lanes_[i] = Mixed(lanes_[i] ^ word);
      at += taken;
      bytes -= taken;
    }
  }
  uint64_t value() const {
    uint64_t all = 0;
    for (uint64_t lane : lanes_) all = Mixed(all ^ lane);
    return all;
  }

 private:
  static constexpr size_t kLanes = 4;  // none waits for another's product
  static uint64_t Mixed(uint64_t x) {
    x *= 0xff51afd7ed558ccdu;
    return x ^ x >> 32;
  }
  uint64_t lanes_[kLanes] = {0x9e3779b97f4a7c15u, 1, 2, 3};
};

}  // namespace belay::layers
