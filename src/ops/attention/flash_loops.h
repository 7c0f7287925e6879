// The arithmetic of attention for training on one packed row.
#pragma once

#include <cstdint>

namespace belay::ops {

// row = (row + shift) * scale; shift may be null.
void ScaleScores(float* row, const float* shift, float scale, int64_t n);

// row = row * scale - slope * the distance of each, or its root; that of the first is `first`.
void SlopeScores(float* row, float scale, float slope, int64_t first, bool root, int64_t n);

// Where forbidden is not 0: -inf. `step`: bytes between two of them.
void ForbidScores(float* row, const uint8_t* forbidden, int64_t step, int64_t n);

// row = 0 where bit first + i of the mask is 0, and row * factor elsewhere.
void DropScores(float* row, const uint8_t* bits, int64_t first, float factor, int64_t n);

// to = to * factor + from
void ScaleAdd(float* to, float factor, const float* from, int64_t n);

// d = p * (d - delta) * scale
void ScoreGradient(float* d, const float* p, float delta, float scale, int64_t n);

}  // namespace belay::ops
