#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/tiny_loops.cc"
#include "ops/matmul/tiny_loops.h"

#include <algorithm>

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kRowsTogether = 4;

template <class D>
HWY_INLINE void StoreFirst(D d, hn::Vec<D> v, float* to, int64_t n) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (n >= lanes) return hn::StoreU(v, d, to);
  alignas(64) float some[hn::MaxLanes(D())];
  hn::Store(v, d, some);
  for (int64_t j = 0; j < n; ++j) to[j] = some[j];
}

// Rows [i, i + rows) of c in columns [j, j + one or two vectors). A row that there is not is the last one
// again.
template <bool kTwo, class D>
HWY_INLINE void FewRows(D d, const TinyProduct& s, const float* a, const float* b, int64_t b_row, float* c,
                        int64_t rows, int64_t columns) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float *a0 = a, *a1 = a + std::min<int64_t>(1, rows - 1) * s.a_row;
  const float *a2 = a + std::min<int64_t>(2, rows - 1) * s.a_row, *a3 = a + (rows - 1) * s.a_row;
  auto c0 = hn::Zero(d), c1 = c0, c2 = c0, c3 = c0, e0 = c0, e1 = c0, e2 = c0, e3 = c0;
  for (int64_t k = 0; k < s.k; ++k, b += b_row) {
    const int64_t at = k * s.a_column;
    const auto x0 = hn::Set(d, a0[at]), x1 = hn::Set(d, a1[at]), x2 = hn::Set(d, a2[at]),
               x3 = hn::Set(d, a3[at]);
    const auto y = hn::LoadU(d, b);
    c0 = hn::MulAdd(x0, y, c0), c1 = hn::MulAdd(x1, y, c1);
    c2 = hn::MulAdd(x2, y, c2), c3 = hn::MulAdd(x3, y, c3);
    if (kTwo) {
      const auto z = hn::LoadU(d, b + lanes);
      e0 = hn::MulAdd(x0, z, e0), e1 = hn::MulAdd(x1, z, e1);
      e2 = hn::MulAdd(x2, z, e2), e3 = hn::MulAdd(x3, z, e3);
    }
  }
  const auto store = [&](int64_t r, auto first, auto second) {
    if (r >= rows) return;
    StoreFirst(d, first, c + r * s.c_row, columns);
    if (kTwo) StoreFirst(d, second, c + r * s.c_row + lanes, columns - lanes);
  };
  store(0, c0, e0), store(1, c1, e1), store(2, c2, e2), store(3, c3, e3);
}

template <class D>
void ByColumns(D d, const TinyProduct& s, const float* a, const float* b, float* c) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t wide = (s.n + lanes - 1) / lanes * lanes;
  alignas(64) float packed[TinyProduct::kMostDeep * TinyProduct::kMostColumns];
  int64_t b_row = s.b_row;
  if (s.b_column != 1 || wide != s.n) {
    for (int64_t k = 0; k < s.k; ++k) {
      for (int64_t j = 0; j < s.n; ++j) packed[k * wide + j] = b[k * s.b_row + j * s.b_column];
      for (int64_t j = s.n; j < wide; ++j) packed[k * wide + j] = 0;
    }
    b = packed, b_row = wide;
  }
  for (int64_t i = 0; i < s.m; i += kRowsTogether) {
    const int64_t rows = std::min(kRowsTogether, s.m - i);
    int64_t j = 0;
    for (; j + 2 * lanes <= wide; j += 2 * lanes) {
      FewRows<true>(d, s, a + i * s.a_row, b + j, b_row, c + i * s.c_row + j, rows, s.n - j);
    }
    if (j < wide) FewRows<false>(d, s, a + i * s.a_row, b + j, b_row, c + i * s.c_row + j, rows, s.n - j);
  }
}

// One column: a sum along each row.
void AlongRows(const TinyProduct& s, const float* a, const float* b, float* c) {
  const hn::CappedTag<float, 8> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  alignas(64) float column[TinyProduct::kMostDeep];
  for (int64_t k = 0; k < s.k; ++k) column[k] = b[k * s.b_row];
  for (int64_t i = 0; i < s.m; ++i, a += s.a_row) {
    auto sum = hn::Zero(d);
    int64_t k = 0;
    for (; k + lanes <= s.k; k += lanes) sum = hn::MulAdd(hn::LoadU(d, a + k), hn::Load(d, column + k), sum);
    float total = hn::GetLane(hn::SumOfLanes(d, sum));
    for (; k < s.k; ++k) total += a[k] * column[k];
    c[i * s.c_row] = total;
  }
}

void MultiplyTiny(const TinyProduct& s, const float* a, const float* b, float* c) {
  if (s.n == 1 && s.a_column == 1) return AlongRows(s, a, b, c);
  if (s.n <= 4) return ByColumns(hn::CappedTag<float, 4>(), s, a, b, c);
  if (s.n <= 8) return ByColumns(hn::CappedTag<float, 8>(), s, a, b, c);
  ByColumns(hn::CappedTag<float, 16>(), s, a, b, c);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(MultiplyTiny);
TinyLoop BestTinyLoop() { return BELAY_SIMD_CALL(MultiplyTiny); }
}  // namespace belay::ops
#endif
