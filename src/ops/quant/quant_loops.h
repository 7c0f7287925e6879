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
};

const QuantLoops& BestQuantLoops();

}  // namespace belay::ops
