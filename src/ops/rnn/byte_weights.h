// Products with weights that are bytes: what comes from the left is rounded to bytes for each product, as
// onnxruntime does it.
#pragma once

#include <cstdint>

namespace belay::ops {

// [k, n], of i8, with one scale or one for each column.
struct ByteWeights {
  const int8_t* values;
  int8_t zero;
  const float* scales;
  bool by_column;
  int64_t k, n;
};

// c [m, n] = a [m, k] x weights. `bytes` has room for the elements of a.
void MultiplyBytes(const float* a, int64_t m, const ByteWeights& weights, uint8_t* bytes, float* c);

}  // namespace belay::ops
