#include "ops/attention/flash_loops.h"

#include <cmath>
#include <limits>

namespace belay::ops {

void ScaleScores(float* row, const float* shift, float scale, int64_t n) {
  if (shift == nullptr) {
    for (int64_t i = 0; i < n; ++i) row[i] *= scale;
    return;
  }
  for (int64_t i = 0; i < n; ++i) row[i] = (row[i] + shift[i]) * scale;
}

void SlopeScores(float* row, float scale, float slope, int64_t first, bool root, int64_t n) {
  if (root) {
    for (int64_t i = 0; i < n; ++i)
      row[i] = row[i] * scale - slope * std::sqrt(std::abs(static_cast<float>(first + i)));
    return;
  }
  for (int64_t i = 0; i < n; ++i) row[i] = row[i] * scale - slope * std::abs(static_cast<float>(first + i));
}

void ForbidScores(float* row, const uint8_t* forbidden, int64_t step, int64_t n) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < n; ++i) row[i] = forbidden[i * step] != 0 ? kNever : row[i];
}

void DropScores(float* row, const uint8_t* bits, int64_t first, float factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t bit = first + i;
    row[i] = (bits[bit / 8] >> bit % 8 & 1) != 0 ? row[i] * factor : 0;
  }
}

void ScaleAdd(float* to, float factor, const float* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = to[i] * factor + from[i];
}

void ScoreGradient(float* d, const float* p, float delta, float scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) d[i] = p[i] * (d[i] - delta) * scale;
}

}  // namespace belay::ops
