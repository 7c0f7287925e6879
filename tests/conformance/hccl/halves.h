// Numbers of ACL_BF16. Whole ones up to 256 are such numbers as they are.
#pragma once

#include <cstdint>
#include <cstring>

namespace conformance {

inline uint16_t Half(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

inline float Float(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace conformance
