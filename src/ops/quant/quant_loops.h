// The arithmetic of quantisation on packed floats.
#pragma once

#include <cstdint>

namespace belay::ops {

struct QuantRange {
  float least, most;
};

// One scale and zero for all n elements, or one for each (step 1).
struct QuantLoops {
  using Loop = void (*)(float* out, const float* x, const float* scale, const float* zero,
                        int64_t step, int64_t n, QuantRange range);
  Loop quantize, requantize, dequantize;
  // The least and the greatest of n elements and 0.
  QuantRange (*range)(const float* x, int64_t n);
  void (*to_bytes)(uint8_t* out, const float* x, float scale, float zero, int64_t n);
};

const QuantLoops& BestQuantLoops();

// Elements as bytes that cover the range of them all, 0 included: x = (byte - zero) * scale, as nearly as may be.
struct ByteScale {
  float scale;  // 0 where every element is 0
  uint8_t zero;
};
ByteScale QuantizeToBytes(const float* x, int64_t n, uint8_t* out);

}  // namespace belay::ops
