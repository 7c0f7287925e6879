// Conversion of arrays between element types. Rules, for all inputs:
//   float -> int   towards zero; out of range saturates, NaN gives 0
//   int -> int     modulo 2^n
//   any -> bool    x != 0 (NaN is true)
//   float -> f16, bf16   round to nearest even; f64 goes by way of f32, as the peers do
// Complex, sub-byte and 8-bit float types are not converted (CanConvert is false).
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace belay::tensor {

bool CanConvert(DType to, DType from);

// dst and src are packed arrays of n elements that do not overlap, unless they are equal and the
// element sizes are too.
void Convert(DType to, void* dst, DType from, const void* src, int64_t n);

// Packs n elements of `bytes` bytes that lie `stride` bytes apart, and the reverse.
void Gather(void* dst, const void* src, int64_t stride, int64_t n, size_t bytes);
void Scatter(void* dst, int64_t stride, const void* src, int64_t n, size_t bytes);

}  // namespace belay::tensor
