#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/exact_loops.cc"
#include "ops/matmul/exact_loops.h"

#include <algorithm>

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kRows = 4;    // at a time: they share what is loaded of b
constexpr int64_t kDeep = 256;  // rows of b, as many as stay in the cache while all rows of a pass

template <class T>
struct FourRows {
  const T *row0, *row1, *row2, *row3;
};
template <class T>
struct FourOut {
  T *row0, *row1, *row2, *row3;
};

// The last row several times over where there are fewer.
template <class Four, class T>
Four RowsFrom(T* first, int64_t count, int64_t step) {
  const int64_t last = std::min(kRows, count) - 1;
  return {first, first + std::min<int64_t>(1, last) * step, first + std::min<int64_t>(2, last) * step,
          first + last * step};
}

template <class D, class V>
HWY_INLINE V AddProduct(D, V a, V b, V sum) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    return hn::MulAdd(a, b, sum);
  } else {
    return hn::Add(sum, hn::Mul(a, b));
  }
}

// A vector of columns of four rows.
template <class D>
struct FourSums {
  using T = hn::TFromD<D>;
  hn::Vec<D> sum0, sum1, sum2, sum3;

  HWY_INLINE FourSums() {}  // one that the compiler makes would be of no instruction set
  HWY_INLINE void Begin(D d, const FourOut<T>& out, int64_t at, bool more) {
    sum0 = more ? hn::LoadU(d, out.row0 + at) : hn::Zero(d);
    sum1 = more ? hn::LoadU(d, out.row1 + at) : hn::Zero(d);
    sum2 = more ? hn::LoadU(d, out.row2 + at) : hn::Zero(d);
    sum3 = more ? hn::LoadU(d, out.row3 + at) : hn::Zero(d);
  }
  HWY_INLINE void Add(D d, const FourRows<T>& a, int64_t k, hn::Vec<D> b) {
    sum0 = AddProduct(d, hn::Set(d, a.row0[k]), b, sum0);
    sum1 = AddProduct(d, hn::Set(d, a.row1[k]), b, sum1);
    sum2 = AddProduct(d, hn::Set(d, a.row2[k]), b, sum2);
    sum3 = AddProduct(d, hn::Set(d, a.row3[k]), b, sum3);
  }
  HWY_INLINE void End(D d, const FourOut<T>& out, int64_t at) const {
    hn::StoreU(sum0, d, out.row0 + at);
    hn::StoreU(sum1, d, out.row1 + at);
    hn::StoreU(sum2, d, out.row2 + at);
    hn::StoreU(sum3, d, out.row3 + at);
  }
};

// One or two vectors of columns from `at` on. more: `out` holds the sums of the rows of b before these.
template <bool kTwo, class D, class T>
void Block(D d, const FourRows<T>& a, const T* b, int64_t n, const FourOut<T>& out, int64_t at, int64_t k,
           bool more) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  FourSums<D> left, right;
  left.Begin(d, out, at, more);
  if constexpr (kTwo) right.Begin(d, out, at + lanes, more);
  const T* from = b + at;
  for (int64_t i = 0; i < k; ++i, from += n) {
    left.Add(d, a, i, hn::LoadU(d, from));
    if constexpr (kTwo) right.Add(d, a, i, hn::LoadU(d, from + lanes));
  }
  left.End(d, out, at);
  if constexpr (kTwo) right.End(d, out, at + lanes);
}

template <class T>
void AllRows(const T* a, int64_t lda, const T* b, T* out, int64_t rows, int64_t n, int64_t k, bool more) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> single;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto each = [&](int64_t at, auto block) {
    for (int64_t i = 0; i < rows; i += kRows) {
      block(RowsFrom<FourRows<T>>(a + i * lda, rows - i, lda), RowsFrom<FourOut<T>>(out + i * n, rows - i, n),
            at);
    }
  };
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    each(j, [&](auto from, auto to, int64_t at) { Block<true>(d, from, b, n, to, at, k, more); });
  }
  for (; j + lanes <= n; j += lanes) {
    each(j, [&](auto from, auto to, int64_t at) { Block<false>(d, from, b, n, to, at, k, more); });
  }
  for (; j < n; ++j) {
    each(j, [&](auto from, auto to, int64_t at) { Block<false>(single, from, b, n, to, at, k, more); });
  }
}

template <class T>
void Product(const T* a, const T* b, T* out, int64_t rows, int64_t n, int64_t k) {
  if (k == 0) std::fill_n(out, rows * n, T{0});
  for (int64_t i = 0; i < k; i += kDeep)
    AllRows(a + i, k, b + i * n, out, rows, n, std::min(kDeep, k - i), i != 0);
}

void ProductF64(const double* a, const double* b, double* out, int64_t rows, int64_t n, int64_t k) {
  Product(a, b, out, rows, n, k);
}
void ProductU32(const uint32_t* a, const uint32_t* b, uint32_t* out, int64_t rows, int64_t n, int64_t k) {
  Product(a, b, out, rows, n, k);
}
void ProductU64(const uint64_t* a, const uint64_t* b, uint64_t* out, int64_t rows, int64_t n, int64_t k) {
  Product(a, b, out, rows, n, k);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(ProductF64);
BELAY_SIMD_EXPORT(ProductU32);
BELAY_SIMD_EXPORT(ProductU64);
template <>
ExactProduct<double> BestExactProduct() {
  return BELAY_SIMD_CALL(ProductF64);
}
template <>
ExactProduct<uint32_t> BestExactProduct() {
  return BELAY_SIMD_CALL(ProductU32);
}
template <>
ExactProduct<uint64_t> BestExactProduct() {
  return BELAY_SIMD_CALL(ProductU64);
}
}  // namespace belay::ops
#endif
