// A number that stands for bytes: the same for the same bytes, given in the same pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace belay::layers {

// Lanes stand beside each other, so that none waits for another's product.
class Digest {
 public:
  void Add(const void* begin, size_t bytes) {
    const auto* at = static_cast<const std::byte*>(begin);
    if (const size_t blocks = bytes / kBlock; blocks != 0) Take(at, blocks);
    const size_t over = bytes % kBlock;
    if (over == 0) return;
    std::byte rest[kBlock] = {};
    std::memcpy(rest, at + bytes - over, over);
    Take(rest, 1);
    lanes_[0] ^= over;
  }
  uint64_t value() const {
    uint64_t all = 0;
    for (size_t i = 0; i < kLanes; ++i) all += Mixed(lanes_[i] ^ key_[i]);
    return Mixed(all);
  }

 private:
  static constexpr size_t kLanes = 8;
  static constexpr size_t kBlock = kLanes * 8;

  // Each word is hidden by a key that changes from block to block, so that words that change places count.
  // The halves are multiplied with each other, which loses words of which one half is the key's: the
  // neighbour's lane takes the word as it is.
#ifdef __SSE2__
  // The lanes and keys are in registers meanwhile.
  void Take(const std::byte* at, size_t blocks) {
    constexpr size_t kPairs = kLanes / 2;
    const __m128i step = _mm_set1_epi64x(static_cast<int64_t>(kStep));
    auto* const lanes = reinterpret_cast<__m128i*>(lanes_);
    auto* const keys = reinterpret_cast<__m128i*>(key_);
    __m128i lane[kPairs], key[kPairs];
#pragma GCC unroll 4
    for (size_t i = 0; i < kPairs; ++i) {
      lane[i] = _mm_load_si128(lanes + i);
      key[i] = _mm_load_si128(keys + i);
    }
    for (; blocks != 0; --blocks, at += kBlock) {
#pragma GCC unroll 4
      for (size_t i = 0; i < kPairs; ++i) {
        const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at) + i);
        const __m128i hidden = _mm_xor_si128(words, key[i]);
        const __m128i product = _mm_mul_epu32(hidden, _mm_srli_epi64(hidden, 32));
        const __m128i turned = _mm_shuffle_epi32(words, _MM_SHUFFLE(1, 0, 3, 2));
        lane[i] = _mm_add_epi64(lane[i], _mm_add_epi64(product, turned));
        key[i] = _mm_add_epi64(key[i], step);
      }
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < kPairs; ++i) {
      _mm_store_si128(lanes + i, lane[i]);
      _mm_store_si128(keys + i, key[i]);
    }
  }
#else
  void Take(const std::byte* at, size_t blocks) {
    for (; blocks != 0; --blocks, at += kBlock) {
      uint64_t words[kLanes];
      std::memcpy(words, at, kBlock);
      for (size_t i = 0; i < kLanes; ++i) {
        const uint64_t hidden = words[i] ^ key_[i];
        lanes_[i] += (hidden & 0xffffffff) * (hidden >> 32) + words[i ^ 1];
        key_[i] += kStep;
      }
    }
  }
#endif
  static uint64_t Mixed(uint64_t x) {
    x *= 0xff51afd7ed558ccdu;
    return x ^ x >> 32;
  }

  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  alignas(16) uint64_t lanes_[kLanes] = {};
  alignas(16) uint64_t key_[kLanes] = {0x40b2d002cc92d33du, 0x32833106536e95dfu, 0x3170fab23d90fbadu,
                                       0xf08db22fd293056bu, 0x4ad5cfbc1d74bd1du, 0xf3faa8e879eaa723u,
                                       0xffec3fee8ed2305du, 0x3ce1268c9c8052e3u};
};

}  // namespace belay::layers
