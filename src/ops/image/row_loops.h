// What preprocessing does to a row of pixels: plain loops over one channel after the other.
#pragma once

#include <array>
#include <cstdint>

namespace belay::ops {

// to[i] = from[i * step].
void WidenBytes(const uint8_t* from, int64_t step, int64_t count, int32_t* to);
// Pairs of pixels share a byte: to[i] = from[i / 2 * 2].
void WidenShared(const uint8_t* from, int64_t count, int32_t* to);

struct ColourMatrix {
  std::array<int32_t, 9> factors;  // in 1/256
  std::array<int32_t, 3> before, after;
};
// The three channels, in place; results are kept within 0 to 255.
void ConvertRow(const ColourMatrix& matrix, int32_t* a, int32_t* b, int32_t* c, int64_t count);

// to[i * step] = (from[i] - mean - least) * factor.
void NormaliseRow(const int32_t* from, int64_t count, float mean, float least, float factor, int64_t step,
                  float* to);

}  // namespace belay::ops
