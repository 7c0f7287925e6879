// A scale of 19 bits and, behind it, an offset of nine in one number, as aclnnTransQuantParamV2 packs them
// and a card's products read them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace belay::ops {

inline uint64_t PackScale(float scale) {
  constexpr uint64_t kScaleBits = 0xffffe000, kPacked = uint64_t{1} << 46;
  return (std::bit_cast<uint32_t>(scale) & kScaleBits) | kPacked;
}

inline constexpr int kOffsetAt = 37;
inline constexpr int64_t kLeastOffset = -256, kMostOffset = 255;

inline uint64_t PackOffset(float offset) {
  const double whole = std::isnan(offset) ? 0 : std::nearbyint(static_cast<double>(offset));
  const auto held = static_cast<int64_t>(std::clamp<double>(whole, kLeastOffset, kMostOffset));
  return (static_cast<uint64_t>(held) & 0x1ff) << kOffsetAt;
}
inline float ScaleOf(uint64_t packed) { return std::bit_cast<float>(static_cast<uint32_t>(packed)); }
inline float OffsetIn(uint64_t packed) {
  const auto bits = static_cast<int64_t>(packed >> kOffsetAt & 0x1ff);
  return static_cast<float>(bits > kMostOffset ? bits - 512 : bits);
}

}  // namespace belay::ops
