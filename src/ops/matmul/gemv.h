// A matrix times one vector, bound by how fast the matrix comes from memory.
#pragma once

#include <cstdint>

namespace belay::ops {

// y[i] = the sum over j of w[i * ld + j] * x[j], for `rows` rows.
using GemvLoop = void (*)(const float* w, int64_t ld, const float* x, int64_t columns, int64_t rows,
                          float* y);
GemvLoop BestGemv();

}  // namespace belay::ops
