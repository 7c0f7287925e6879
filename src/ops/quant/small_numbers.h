// Numbers of eight and four bits, as every quantised operator writes and reads them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace belay::ops {

// The nearest number of eight bits, as a float; halves go to the even neighbour.
inline float RoundedToByte(float value) { return std::clamp(std::nearbyint(value), -128.0f, 127.0f); }

// A signed number of four bits; of two in a byte the first one has the low bits.
inline int NibbleAt(const uint8_t* bytes, int64_t element) {
  const int bits = element % 2 == 0 ? bytes[element / 2] & 15 : bytes[element / 2] >> 4;
  return bits < 8 ? bits : bits - 16;
}

}  // namespace belay::ops
