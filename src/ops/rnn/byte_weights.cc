#include "ops/rnn/byte_weights.h"

#include <cstring>

#include "ops/matmul/integer.h"
#include "ops/quant/quant_loops.h"

namespace belay::ops {

void MultiplyBytes(const float* a, int64_t m, const ByteWeights& w, uint8_t* bytes, float* c) {
  const ByteScale made = QuantizeToBytes(a, m * w.k, bytes);
  auto* sums = reinterpret_cast<int32_t*>(c);  // become floats in place
  const IntegerGemm gemm{m, w.n, w.k, bytes, w.k, made.zero, w.values, w.n, w.zero, sums, w.n};
  if (!BestIntegerGemm()(gemm)) PlainIntegerGemm(gemm);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < w.n; ++j) {
      int32_t sum;
      std::memcpy(&sum, c + i * w.n + j, sizeof sum);
      c[i * w.n + j] = static_cast<float>(sum) * (made.scale * w.scales[w.by_column ? j : 0]);
    }
  }
}

}  // namespace belay::ops
