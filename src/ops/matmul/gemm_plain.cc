// The product in plain loops: right everywhere, for machines without oneDNN. f32 only.
#include <algorithm>
#include <vector>

#include "ops/matmul/gemm.h"

namespace belay::ops {
namespace {

float At(const GemmMatrix& matrix, int64_t row, int64_t column) {
  const auto* x = static_cast<const float*>(matrix.data);
  return matrix.transposed ? x[column * matrix.ld + row] : x[row * matrix.ld + column];
}

// b's rows [k0, k1) x columns [j0, j1), packed.
void Pack(const Gemm& g, int64_t k0, int64_t k1, int64_t j0, int64_t j1, float* to) {
  for (int64_t k = k0; k < k1; ++k) {
    for (int64_t j = j0; j < j1; ++j) *to++ = At(g.b, k, j);
  }
}

bool RunPlain(const Gemm& g) {
  constexpr int64_t kDeep = 128, kWide = 256;
  auto* c = static_cast<float*>(g.c);
  for (int64_t i = 0; i < g.m; ++i) std::fill(c + i * g.ldc, c + i * g.ldc + g.n, 0.0f);
  std::vector<float> panel(static_cast<size_t>(kDeep * kWide));
  for (int64_t j0 = 0; j0 < g.n; j0 += kWide) {
    int64_t wide = std::min(kWide, g.n - j0);
    for (int64_t k0 = 0; k0 < g.k; k0 += kDeep) {
      int64_t k1 = std::min(g.k, k0 + kDeep);
      Pack(g, k0, k1, j0, j0 + wide, panel.data());
      for (int64_t i = 0; i < g.m; ++i) {
        float sums[kWide] = {};
        for (int64_t k = k0; k < k1; ++k) {
          float a = At(g.a, i, k);
          const float* b = panel.data() + (k - k0) * wide;
          for (int64_t j = 0; j < wide; ++j) sums[j] += a * b[j];
        }
        float* row = c + i * g.ldc + j0;
        for (int64_t j = 0; j < wide; ++j) row[j] += sums[j];
      }
    }
  }
  return true;
}

}  // namespace

const GemmBackend& PlainGemm() {
  static constexpr GemmBackend kBackend{&RunPlain, false, "plain loops"};
  return kBackend;
}

}  // namespace belay::ops
