#include "ops/experts/matrix_block.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ops/matmul/gemv.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// n lines of m elements as packed floats.
void CopyLines(const char* from, DType type, int64_t line, int64_t step, int64_t n, int64_t m, float* to) {
  const Lane lane(type, DType::kF32, step);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < m; k += kBlock) {
      const int64_t count = std::min(kBlock, m - k);
      float* piece = to + i * m + k;
      const void* loaded = lane.Load(piece, from + i * line + k * step, count);
      if (loaded != piece) std::memcpy(piece, loaded, static_cast<size_t>(count) * sizeof(float));
    }
  }
}

}  // namespace

MatrixPlace::MatrixPlace(const Operand& operand, int64_t index)
    : binding(operand.binding), type(operand.dtype()), at(tensor::OffsetOf(*operand.tensor)) {
  const Tensor& t = *operand.tensor;
  const int rank = t.shape.rank();
  rows = t.shape[rank - 2], columns = t.shape[rank - 1];
  row = tensor::StepOf(t, rank - 2), column = tensor::StepOf(t, rank - 1);
  for (int d = rank - 3; d >= 0; --d) {
    at += index % t.shape[d] * tensor::StepOf(t, d);
    index /= t.shape[d];
  }
}

GemmMatrix MatrixPlace::Block(const Frame& frame, int64_t r, int64_t n, int64_t c, int64_t m,
                              float* buffer) const {
  const char* from = Of(frame, r, c);
  const bool floats = type == DType::kF32 && row % kFloat == 0 && column % kFloat == 0;
  if (floats && column == kFloat && (n == 1 || row >= m * kFloat)) {
    return {from, n == 1 ? m : row / kFloat, false};
  }
  if (floats && row == kFloat && (m == 1 || column >= n * kFloat)) {
    return {from, m == 1 ? n : column / kFloat, true};
  }
  if (row < column) {
    CopyLines(from, type, column, row, m, n, buffer);
    return {buffer, n, true};
  }
  CopyLines(from, type, row, column, n, m, buffer);
  return {buffer, m, false};
}

void MultiplyFloats(const Gemm& g) {
  if (g.k == 0) {
    for (int64_t i = 0; i < g.m; ++i) std::fill_n(static_cast<float*>(g.c) + i * g.ldc, g.n, 0.0f);
    return;
  }
  if (g.m == 1 && (!g.a.transposed || g.a.ld == 1)) {  // one row times what goes by once
    const auto *a = static_cast<const float*>(g.a.data), *b = static_cast<const float*>(g.b.data);
    auto* c = static_cast<float*>(g.c);
    if (g.b.transposed) return BestGemv()(b, g.b.ld, a, g.k, g.n, c);
    return BestTransposedGemv()(b, g.b.ld, a, g.n, g.k, c);
  }
  if (BestGemm().run(g)) return;
  Fail(tensor::kRuntimeFailure, "matmul-backend", "{} refused a product of {} x {} x {}", BestGemm().name,
       g.m, g.k, g.n);
}

}  // namespace belay::ops
