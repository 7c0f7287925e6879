// One product of two matrices in memory, c = a x b, and who can compute it.
#pragma once

#include <cstdint>

namespace belay::ops {

enum class GemmType : int32_t { kF32, kBF16 };

// A matrix whose rows or columns are packed. `ld`: elements from one row (column, when
// `transposed`) to the next.
struct GemmMatrix {
  const void* data;
  int64_t ld;
  bool transposed;
};

// The part of a matrix that begins at this row and column.
inline GemmMatrix PartOf(const GemmMatrix& matrix, GemmType type, int64_t row, int64_t column) {
  const int64_t at = matrix.transposed ? column * matrix.ld + row : row * matrix.ld + column;
  return {static_cast<const char*>(matrix.data) + at * (type == GemmType::kF32 ? 4 : 2), matrix.ld,
          matrix.transposed};
}

// The layout is shared with libbelay_dnnl.so, which is built from the same sources.
struct Gemm {
  int64_t m, n, k;
  GemmMatrix a, b;
  void* c;  // rows packed
  int64_t ldc;
  GemmType in, out;
};

// Computes on the calling thread; false: cannot.
using GemmFunction = bool (*)(const Gemm& gemm);

struct GemmBackend {
  GemmFunction run;
  bool bf16;  // takes GemmType::kBF16
  const char* name;
};

// oneDNN, or the plain loops where its library is missing, which is said once.
const GemmBackend& BestGemm();
const GemmBackend& PlainGemm();

}  // namespace belay::ops
