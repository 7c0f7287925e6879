#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/integer_loops.cc"
#include <algorithm>

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/matmul/integer.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

void AllMoved(const uint8_t* __restrict__ from, int64_t count, uint8_t* __restrict__ to) {
  for (int64_t i = 0; i < count; ++i) to[i] = Moved(from[i]);
}

void AddRow(const int8_t* __restrict__ b, int32_t b_zero, int32_t factor, int64_t n,
            int32_t* __restrict__ sums) {
  for (int64_t j = 0; j < n; ++j) sums[j] += factor * (b[j] - b_zero);
}

void IntegerRows(const IntegerGemm& g) {
  for (int64_t i = 0; i < g.m; ++i) {
    int32_t* sums = g.c + i * g.ldc;
    std::fill_n(sums, g.n, 0);
    for (int64_t p = 0; p < g.k; ++p) {
      const int32_t factor = g.a[i * g.lda + p] - g.a_zero;
      if (factor != 0) AddRow(g.b + p * g.ldb, g.b_zero, factor, g.n, sums);
    }
  }
}

template <class T>
void SubtractTimes(const T* __restrict__ zeros, int32_t factor, int64_t n, int32_t* __restrict__ sums) {
  for (int64_t j = 0; j < n; ++j) sums[j] -= factor * zeros[j];
}

void ColumnZeros(const IntegerGemm& g, const uint8_t* zeros, bool is_signed) {
  for (int64_t i = 0; i < g.m; ++i) {
    const uint8_t* row = g.a + i * g.lda;
    int32_t sum = 0;
    for (int64_t p = 0; p < g.k; ++p) sum += row[p] - g.a_zero;
    if (is_signed) {
      SubtractTimes(reinterpret_cast<const int8_t*>(zeros), sum, g.n, g.c + i * g.ldc);
    } else {
      SubtractTimes(zeros, sum, g.n, g.c + i * g.ldc);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(IntegerRows);
BELAY_SIMD_EXPORT(AllMoved);
BELAY_SIMD_EXPORT(ColumnZeros);
void SubtractColumnZeros(const IntegerGemm& gemm, const uint8_t* zeros, bool is_signed) {
  BELAY_SIMD_CALL(ColumnZeros)(gemm, zeros, is_signed);
}
void MoveBytes(const uint8_t* from, int64_t count, uint8_t* to) {
  BELAY_SIMD_CALL(AllMoved)(from, count, to);
}
bool PlainIntegerGemm(const IntegerGemm& gemm) {
  BELAY_SIMD_CALL(IntegerRows)(gemm);
  return true;
}
}  // namespace belay::ops
#endif
