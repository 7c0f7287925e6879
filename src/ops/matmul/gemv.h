// A matrix times one vector, bound by how fast the matrix comes from memory. Every element of the result is
// summed in the same order, wherever it stands: equal rows (columns) give equal bits.
#pragma once

#include <cstdint>

namespace belay::ops {

// y[i] = the sum over j of w[i * ld + j] * x[j], for `rows` rows.
using GemvLoop = void (*)(const float* w, int64_t ld, const float* x, int64_t columns, int64_t rows,
                          float* y);
GemvLoop BestGemv();

// y[j] = the sum over i of x[i] * w[i * ld + j], for `columns` columns.
GemvLoop BestTransposedGemv();
// The same to the bit of a matrix that was read just before and lies in a cache: nothing is fetched ahead.
GemvLoop BestTransposedGemvOfNear();

}  // namespace belay::ops
