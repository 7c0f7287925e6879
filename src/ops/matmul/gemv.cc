#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/gemv.cc"
#include "ops/matmul/gemv.h"

#include <algorithm>
#include <cstdint>

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kRows = 4;  // at a time: they share what is loaded of x, or of y

// One element at a time, for what is left of a row: the same operations as in a whole vector.
using Single = hn::CappedTag<float, 1>;

struct FourRows {
  const float *row0, *row1, *row2, *row3;
  uintptr_t ahead;  // bytes to the rows that follow soon

  // A processor looks ahead within a page, and waits at the next one. What is far enough ahead has come from
  // memory when it is read.
  HWY_INLINE void Fetch(int64_t j) const {
    FetchAhead(row0 + j), FetchAhead(row1 + j), FetchAhead(row2 + j), FetchAhead(row3 + j);
  }
  HWY_INLINE void FetchAhead(const float* from) const {
    constexpr int kOnce = 2;  // into the second cache: the first one holds x and y
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from) + ahead), 0, kOnce);
  }
};

// So far ahead as it takes from memory: whole groups of short rows, or further along long ones.
uintptr_t Ahead(int64_t ld) {
  constexpr int64_t kFar = 16 * 1024;
  const int64_t group = std::max<int64_t>(1, kRows * ld * static_cast<int64_t>(sizeof(float)));
  return static_cast<uintptr_t>(group <= kFar ? group * (kFar / group) : kFar / kRows);
}

// Adds all elements of vector r to sums[r].
template <class D, class V = hn::Vec<D>>
HWY_INLINE void AddEachSum(D d, V sum0, V sum1, V sum2, V sum3, float* sums) {
  sums[0] += hn::GetLane(hn::SumOfLanes(d, sum0)), sums[1] += hn::GetLane(hn::SumOfLanes(d, sum1));
  sums[2] += hn::GetLane(hn::SumOfLanes(d, sum2)), sums[3] += hn::GetLane(hn::SumOfLanes(d, sum3));
}

#if HWY_TARGET == HWY_SCALAR
template <class D, class V = hn::Vec<D>>
HWY_INLINE void AddSums(D d, V sum0, V sum1, V sum2, V sum3, float* sums) {
  AddEachSum(d, sum0, sum1, sum2, sum3, sums);
}
#else
using Block = hn::FixedTag<float, 4>;

HWY_INLINE hn::Vec<Block> SumOfBlocks(Block, hn::Vec<Block> v) { return v; }

template <class D>
HWY_INLINE hn::Vec<Block> SumOfBlocks(D d, hn::Vec<D> v) {
  const hn::Half<D> half;
  return SumOfBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
}

// All four at once: two vectors become one, then four, then their blocks.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void AddSums(D d, V sum0, V sum1, V sum2, V sum3, float* sums) {
  const hn::RepartitionToWide<D> pairs;
  const auto of_two = [d](V a, V b) HWY_ATTR {
    return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  };
  const auto low = hn::BitCast(pairs, of_two(sum0, sum1)), high = hn::BitCast(pairs, of_two(sum2, sum3));
  const V all = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, low, high)),
                        hn::BitCast(d, hn::InterleaveUpper(pairs, low, high)));
  hn::StoreU(hn::Add(SumOfBlocks(d, all), hn::LoadU(Block(), sums)), Block(), sums);
}

HWY_INLINE void AddSums(Single d, hn::Vec<Single> sum0, hn::Vec<Single> sum1, hn::Vec<Single> sum2,
                        hn::Vec<Single> sum3, float* sums) {
  AddEachSum(d, sum0, sum1, sum2, sum3, sums);
}
#endif

// Adds to sums[r] what row r makes of columns [from, ...), as many as fill vectors; returns where it stopped.
template <class D>
int64_t Dot(D d, const FourRows& w, const float* x, int64_t from, int64_t columns, float* sums) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  int64_t j = from;
  for (; j + lanes <= columns; j += lanes) {
    const auto v = hn::LoadU(d, x + j);
    w.Fetch(j);
    sum0 = hn::MulAdd(hn::LoadU(d, w.row0 + j), v, sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, w.row1 + j), v, sum1);
    sum2 = hn::MulAdd(hn::LoadU(d, w.row2 + j), v, sum2);
    sum3 = hn::MulAdd(hn::LoadU(d, w.row3 + j), v, sum3);
  }
  AddSums(d, sum0, sum1, sum2, sum3, sums);
  return j;
}

HWY_INLINE void DotPiece(const FourRows& w, const float* x, int64_t from, int64_t end, float* sums) {
  const int64_t rest = Dot(hn::ScalableTag<float>(), w, x, from, end, sums);
  if (rest < end) Dot(Single(), w, x, rest, end, sums);
}

// So many columns, or rows, are added up in f32; what comes of them is added in f64.
constexpr int64_t kPieceOfRow = 1024;
constexpr int64_t kPieceOfColumn = 512;

// What lies behind the first piece.
void AddPieces(const FourRows& w, const float* x, int64_t columns, float* sums) {
  double totals[kRows];
  std::copy_n(sums, kRows, totals);
  for (int64_t j = kPieceOfRow; j < columns; j += kPieceOfRow) {
    float piece[kRows] = {};
    DotPiece(w, x, j, std::min(columns, j + kPieceOfRow), piece);
    for (int64_t r = 0; r < kRows; ++r) totals[r] += static_cast<double>(piece[r]);
  }
  for (int64_t r = 0; r < kRows; ++r) sums[r] = static_cast<float>(totals[r]);
}

// The last block takes its last row several times over, so that there is one order of summing only.
void Gemv(const float* w, int64_t ld, const float* x, int64_t columns, int64_t rows, float* y) {
  const uintptr_t ahead = Ahead(ld);
  for (int64_t i = 0; i < rows; i += kRows) {
    const int64_t last = std::min(kRows, rows - i) - 1;
    const float* row = w + i * ld;
    const FourRows four{row, row + std::min<int64_t>(1, last) * ld, row + std::min<int64_t>(2, last) * ld,
                        row + last * ld, ahead};
    float sums[kRows] = {};
    DotPiece(four, x, 0, std::min(columns, kPieceOfRow), sums);
    if (columns > kPieceOfRow) AddPieces(four, x, columns, sums);
    for (int64_t r = 0; r <= last; ++r) y[i + r] = sums[r];
  }
}

// y[j] += x[0] * row0[j] + ... + x[3] * row3[j]; returns where it stopped. kFetch: rows come from memory.
template <bool kFetch, class D>
int64_t AddFourRows(D d, const FourRows& w, const float* x, int64_t from, int64_t columns, float* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto x0 = hn::Set(d, x[0]), x1 = hn::Set(d, x[1]), x2 = hn::Set(d, x[2]), x3 = hn::Set(d, x[3]);
  int64_t j = from;
  for (; j + lanes <= columns; j += lanes) {
    if constexpr (kFetch) w.Fetch(j);
    auto sum = hn::MulAdd(hn::LoadU(d, w.row0 + j), x0, hn::LoadU(d, y + j));
    sum = hn::MulAdd(hn::LoadU(d, w.row1 + j), x1, sum);
    sum = hn::MulAdd(hn::LoadU(d, w.row2 + j), x2, sum);
    hn::StoreU(hn::MulAdd(hn::LoadU(d, w.row3 + j), x3, sum), d, y + j);
  }
  return j;
}

template <class D>
int64_t AddRow(D d, const float* w, float x, int64_t from, int64_t columns, float* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto v = hn::Set(d, x);
  int64_t j = from;
  for (; j + lanes <= columns; j += lanes) {
    hn::StoreU(hn::MulAdd(hn::LoadU(d, w + j), v, hn::LoadU(d, y + j)), d, y + j);
  }
  return j;
}

// y[j] = the sum over the rows, for columns that stay in the first cache.
template <bool kFetch>
void AddAllRows(const float* w, int64_t ld, const float* x, int64_t columns, int64_t rows, float* y) {
  std::fill_n(y, columns, 0.0f);
  const hn::ScalableTag<float> d;
  const uintptr_t ahead = kFetch ? Ahead(ld) : 0;
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) {
    const float* row = w + i * ld;
    const FourRows four{row, row + ld, row + 2 * ld, row + 3 * ld, ahead};
    const int64_t rest = AddFourRows<kFetch>(d, four, x + i, 0, columns, y);
    AddFourRows<kFetch>(Single(), four, x + i, rest, columns, y);
  }
  for (; i < rows; ++i) {
    const float* row = w + i * ld;
    AddRow(Single(), row, x[i], AddRow(d, row, x[i], 0, columns, y), columns, y);
  }
}

// The same for any number of rows: in pieces, too.
template <bool kFetch>
void AddManyRows(const float* w, int64_t ld, const float* x, int64_t columns, int64_t rows, float* y) {
  constexpr int64_t kWide = 4096;
  double totals[kWide];
  float sums[kWide];
  for (int64_t j = 0; j < columns; j += kWide) {
    const int64_t wide = std::min(kWide, columns - j);
    std::fill_n(totals, wide, 0.0);
    for (int64_t i = 0; i < rows; i += kPieceOfColumn) {
      AddAllRows<kFetch>(w + i * ld + j, ld, x + i, wide, std::min(kPieceOfColumn, rows - i), sums);
      for (int64_t k = 0; k < wide; ++k) totals[k] += static_cast<double>(sums[k]);
    }
    for (int64_t k = 0; k < wide; ++k) y[j + k] = static_cast<float>(totals[k]);
  }
}

template <bool kFetch>
void SumOfRows(const float* w, int64_t ld, const float* x, int64_t columns, int64_t rows, float* y) {
  if (rows > kPieceOfColumn) return AddManyRows<kFetch>(w, ld, x, columns, rows, y);
  constexpr int64_t kWide = 4096;
  for (int64_t j = 0; j < columns; j += kWide) {
    AddAllRows<kFetch>(w + j, ld, x, std::min(kWide, columns - j), rows, y + j);
  }
}
void TransposedGemv(const float* w, int64_t ld, const float* x, int64_t columns, int64_t rows, float* y) {
  SumOfRows<true>(w, ld, x, columns, rows, y);
}
void TransposedGemvOfNear(const float* w, int64_t ld, const float* x, int64_t columns, int64_t rows,
                          float* y) {
  SumOfRows<false>(w, ld, x, columns, rows, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(Gemv);
BELAY_SIMD_EXPORT(TransposedGemv);
BELAY_SIMD_EXPORT(TransposedGemvOfNear);
GemvLoop BestGemv() { return BELAY_SIMD_CALL(Gemv); }
GemvLoop BestTransposedGemv() { return BELAY_SIMD_CALL(TransposedGemv); }
GemvLoop BestTransposedGemvOfNear() { return BELAY_SIMD_CALL(TransposedGemvOfNear); }
}  // namespace belay::ops
#endif
