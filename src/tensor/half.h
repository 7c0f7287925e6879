// The two 16-bit floating-point types as storage, and their scalar conversions (round to nearest even,
// subnormals kept). Arithmetic is done in float; arrays go through convert.h.
#pragma once

#include <bit>
#include <cstdint>

namespace belay::tensor {

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

constexpr float ToFloat(BFloat16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

constexpr BFloat16 ToBFloat16(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7fffffff) > 0x7f800000) return {static_cast<uint16_t>((u >> 16) | 0x40)};  // quiet NaN
  return {static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16)};
}

constexpr float ToFloat(Half x) {
  uint32_t sign = uint32_t{x.bits & 0x8000u} << 16;
  uint32_t exponent = (x.bits >> 10) & 0x1f;
  uint32_t mantissa = x.bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    int shift = std::countl_zero(mantissa) - 21;  // moves the leading one to bit 10
    mantissa = (mantissa << shift) & 0x3ff;
    exponent = static_cast<uint32_t>(1 - shift);
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

constexpr Half ToHalf(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  auto sign = static_cast<uint16_t>((u >> 16) & 0x8000);
  uint32_t a = u & 0x7fffffff;
  if (a > 0x7f800000) {  // NaN: keep the payload's top bits, make it quiet
    return {static_cast<uint16_t>(sign | 0x7e00 | ((a >> 13) & 0x3ff))};
  }
  if (a >= 0x477ff000) return {static_cast<uint16_t>(sign | 0x7c00)};  // rounds to infinity
  if (a < 0x38800000) {                                                // subnormal or zero
    uint32_t shift = 126 - (a >> 23);  // >= 14: bits to drop from the 24-bit significand
    if (shift > 24) return {sign};
    uint32_t significand = (a & 0x7fffff) | 0x800000;
    uint32_t result = significand >> shift;
    uint32_t rest = significand & ((1u << shift) - 1);
    uint32_t half = 1u << (shift - 1);
    if (rest > half || (rest == half && (result & 1))) ++result;
    return {static_cast<uint16_t>(sign | result)};
  }
  uint32_t rounded = a + 0xfff + ((a >> 13) & 1);
  return {static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13))};
}

}  // namespace belay::tensor
