// What training recurrent networks multiplies and sums: packed floats.
#pragma once

#include <cstdint>

#include "ops/matmul/gemm.h"

namespace belay::ops {

// c [m, n] = a [m, k] x b, by rows on many cores.
void Multiply(const float* a, const GemmMatrix& b, float* c, int64_t m, int64_t n, int64_t k);

// c [m, n] = the transpose of a [k, m] x b [k, n].
void MultiplyTurned(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k);

// to [width] = the sum of the rows of a [rows, width], by way of `sums` [width].
void SumRows(const float* a, int64_t rows, int64_t width, double* sums, float* to);

float Sigmoid(float x);

}  // namespace belay::ops
