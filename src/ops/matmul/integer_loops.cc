#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/integer_loops.cc"
#include <algorithm>
#include <cstring>

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

void RowByRow(const IntegerGemm& g) {
  for (int64_t i = 0; i < g.m; ++i) {
    int32_t* sums = g.c + i * g.ldc;
    std::fill_n(sums, g.n, 0);
    for (int64_t p = 0; p < g.k; ++p) {
      const int32_t factor = g.a[i * g.lda + p] - g.a_zero;
      if (factor != 0) AddRow(g.b + p * g.ldb, g.b_zero, factor, g.n, sums);
    }
  }
}

#if HWY_TARGET == HWY_SCALAR
void IntegerRows(const IntegerGemm& g) { RowByRow(g); }
#else
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<int32_t>;
using Narrow = hn::Repartition<int16_t, Wide>;
constexpr int64_t kRows = 4;       // at a time: they share what is loaded of b
constexpr int64_t kManyRows = 32;  // that share what is made of b
constexpr int64_t kPairs = 128;    // of rows of b
constexpr int64_t kMostColumns = 2 * static_cast<int64_t>(hn::MaxLanes(Wide()));

// Bytes less their zero points in pairs: an instruction multiplies pairs and adds both products, exactly.
struct Pairs {
  alignas(64) int16_t a[kManyRows][2 * kPairs];
  alignas(64) int16_t b[kPairs][2 * kMostColumns];  // of each pair of rows the columns, side by side
};

void PackA(const IntegerGemm& g, int64_t row, int64_t rows, int64_t p, int64_t deep, Pairs& pairs) {
  for (int64_t i = 0; i < rows; ++i) {
    const uint8_t* from = g.a + (row + i) * g.lda + p;
    int16_t* to = pairs.a[i];
    for (int64_t k = 0; k < deep; ++k) to[k] = static_cast<int16_t>(from[k] - g.a_zero);
    if (deep % 2 != 0) to[deep] = 0;
  }
}

void PackB(const IntegerGemm& g, int64_t column, int64_t columns, int64_t p, int64_t deep, Pairs& pairs) {
  for (int64_t k = 0; k < deep; k += 2) {
    const int8_t* even = g.b + (p + k) * g.ldb + column;
    const int8_t* odd = k + 1 < deep ? even + g.ldb : even;  // what is multiplied by 0
    int16_t* to = pairs.b[k / 2];
    for (int64_t j = 0; j < columns; ++j) {
      to[2 * j] = static_cast<int16_t>(even[j] - g.b_zero);
      to[2 * j + 1] = static_cast<int16_t>(odd[j] - g.b_zero);
    }
  }
}

// The sums of two vectors of columns of a row.
struct RowSums {
  hn::Vec<Wide> left, left_more, right, right_more;

  HWY_INLINE RowSums() {}  // one that the compiler makes would be of no instruction set
  HWY_INLINE void Begin() { left = left_more = right = right_more = hn::Zero(Wide()); }
  HWY_INLINE void Add(const int16_t* a, hn::Vec<Narrow> b_left, hn::Vec<Narrow> b_right) {
    int32_t both;
    std::memcpy(&both, a, sizeof both);
    const auto pair = hn::BitCast(Narrow(), hn::Set(Wide(), both));
    left = hn::ReorderWidenMulAccumulate(Wide(), pair, b_left, left, left_more);
    right = hn::ReorderWidenMulAccumulate(Wide(), pair, b_right, right, right_more);
  }
  // more: `to` holds the sums of the pairs before these.
  HWY_INLINE void End(int32_t* to, int64_t columns, bool more) const {
    const Wide d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto near = hn::RearrangeToOddPlusEven(left, left_more),
               far = hn::RearrangeToOddPlusEven(right, right_more);
    if (columns == 2 * lanes && !more) {
      hn::StoreU(near, d, to);
      return hn::StoreU(far, d, to + lanes);
    }
    alignas(64) int32_t sums[kMostColumns];
    hn::Store(near, d, sums);
    hn::Store(far, d, sums + lanes);
    for (int64_t j = 0; j < columns; ++j) to[j] = sums[j] + (more ? to[j] : 0);
  }
};

HWY_ATTR void FourRows(const IntegerGemm& g, const Pairs& pairs, int64_t first, int64_t rows,
                       int64_t pair_count, int32_t* to, int64_t columns, bool more) {
  const auto row_of = [&](int64_t i) { return pairs.a[first + std::min(i, rows - 1)]; };
  const int16_t *row0 = row_of(0), *row1 = row_of(1), *row2 = row_of(2), *row3 = row_of(3);
  RowSums sums0, sums1, sums2, sums3;
  sums0.Begin(), sums1.Begin(), sums2.Begin(), sums3.Begin();
  for (int64_t k = 0; k < pair_count; ++k) {
    const auto left = hn::Load(Narrow(), pairs.b[k]);
    const auto right = hn::Load(Narrow(), pairs.b[k] + hn::Lanes(Narrow()));
    sums0.Add(row0 + 2 * k, left, right);
    sums1.Add(row1 + 2 * k, left, right);
    sums2.Add(row2 + 2 * k, left, right);
    sums3.Add(row3 + 2 * k, left, right);
  }
  sums0.End(to, columns, more);
  if (rows > 1) sums1.End(to + g.ldc, columns, more);
  if (rows > 2) sums2.End(to + 2 * g.ldc, columns, more);
  if (rows > 3) sums3.End(to + 3 * g.ldc, columns, more);
}

void IntegerRows(const IntegerGemm& g) {
  if (g.m < kRows || g.k == 0) return RowByRow(g);
  const auto wide = static_cast<int64_t>(2 * hn::Lanes(Wide()));
  Pairs pairs;
  for (int64_t row = 0; row < g.m; row += kManyRows) {
    const int64_t rows = std::min(kManyRows, g.m - row);
    for (int64_t p = 0; p < g.k; p += 2 * kPairs) {
      const int64_t deep = std::min(2 * kPairs, g.k - p);
      PackA(g, row, rows, p, deep, pairs);
      for (int64_t j = 0; j < g.n; j += wide) {
        const int64_t columns = std::min(wide, g.n - j);
        PackB(g, j, columns, p, deep, pairs);
        for (int64_t i = 0; i < rows; i += kRows) {
          FourRows(g, pairs, i, std::min(kRows, rows - i), (deep + 1) / 2, g.c + (row + i) * g.ldc + j,
                   columns, p != 0);
        }
      }
    }
  }
}
#endif

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
