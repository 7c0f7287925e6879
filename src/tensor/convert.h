// Conversion of arrays between element types. Rules, for all inputs:
//   float -> int   towards zero; out of range saturates, NaN gives 0
//   int -> int     modulo 2^n
//   any -> bool    x != 0 (NaN is true)
//   float -> f16, bf16   round to nearest even; f64 goes by way of f32, as the peers do
//   real -> complex      by way of f64; the imaginary part is 0
//   complex -> real      the real part; to bool whether either part is not 0
// Sub-byte and 8-bit float types are not converted.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/dtype.h"

namespace belay::tensor {

// Whether both are real, or one type: what most operators take. Convert takes complex types besides.
bool CanConvert(DType to, DType from);

// One number, by the same rule.
inline int64_t ToInteger(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  return value <= -0x1p63 ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(value);
}

// dst and src are packed arrays of n elements that do not overlap, unless they are equal and the
// element sizes are too.
void Convert(DType to, void* dst, DType from, const void* src, int64_t n);

// Packs n elements of `bytes` bytes that lie `stride` bytes apart, and the reverse.
void Gather(void* dst, const void* src, int64_t stride, int64_t n, size_t bytes);
void Scatter(void* dst, int64_t stride, const void* src, int64_t n, size_t bytes);

}  // namespace belay::tensor
