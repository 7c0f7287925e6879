#include "ops/image/row_loops.h"

#include <algorithm>

namespace belay::ops {
namespace {

int32_t Kept(int32_t value) { return std::min(std::max(value, 0), 255); }

}  // namespace

void WidenBytes(const uint8_t* from, int64_t step, int64_t count, int32_t* to) {
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

void WidenShared(const uint8_t* from, int64_t count, int32_t* to) {
  for (int64_t i = 0; i + 1 < count; i += 2) to[i] = to[i + 1] = from[i];
  if (count % 2 != 0) to[count - 1] = from[count - 1];
}

void ConvertRow(const ColourMatrix& matrix, int32_t* __restrict a, int32_t* __restrict b,
                int32_t* __restrict c, int64_t count) {
  const auto [m00, m01, m02, m10, m11, m12, m20, m21, m22] = matrix.factors;
  const auto [before_a, before_b, before_c] = matrix.before;
  const auto [after_a, after_b, after_c] = matrix.after;
  for (int64_t i = 0; i < count; ++i) {
    int32_t x = a[i] - before_a, y = b[i] - before_b, z = c[i] - before_c;
    a[i] = Kept(((m00 * x + m01 * y + m02 * z) >> 8) + after_a);
    b[i] = Kept(((m10 * x + m11 * y + m12 * z) >> 8) + after_b);
    c[i] = Kept(((m20 * x + m21 * y + m22 * z) >> 8) + after_c);
  }
}

void NormaliseRow(const int32_t* __restrict from, int64_t count, float mean, float least, float factor,
                  int64_t step, float* __restrict to) {
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = (static_cast<float>(from[i]) - mean - least) * factor;
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i * step] = (static_cast<float>(from[i]) - mean - least) * factor;
}

}  // namespace belay::ops
