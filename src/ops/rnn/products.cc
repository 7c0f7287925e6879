#include "ops/rnn/products.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

void RunProduct(const Gemm& gemm) {
  if (!BestGemm().run(gemm)) {
    Fail(tensor::kRuntimeFailure, "matmul-backend", "the backend refused a product");
  }
}

}  // namespace

void Multiply(const float* a, const GemmMatrix& b, float* c, int64_t m, int64_t n, int64_t k) {
  ParallelFor(m, 1 + 1'000'000 / (n * k + 1), [&](int64_t begin, int64_t end) {
    RunProduct(
        {end - begin, n, k, {a + begin * k, k, false}, b, c + begin * n, n, GemmType::kF32, GemmType::kF32});
  });
}

void MultiplyTurned(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k) {
  RunProduct({m, n, k, {a, m, true}, {b, n, false}, c, n, GemmType::kF32, GemmType::kF32});
}

void SumRows(const float* a, int64_t rows, int64_t width, double* sums, float* to) {
  std::fill_n(sums, width, 0.0);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < width; ++i) sums[i] += static_cast<double>(a[r * width + i]);
  }
  for (int64_t i = 0; i < width; ++i) to[i] = static_cast<float>(sums[i]);
}

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

}  // namespace belay::ops
