#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/fold_loops.cc"
#include "ops/reduce/fold_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"
#include "ops/layout/square.h"
#include "ops/some_lanes-inl.h"

#ifndef BELAY_OPS_FOLD_ONCE
#define BELAY_OPS_FOLD_ONCE
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr T Lowest() {
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}
template <class T>
constexpr T Highest() {
  return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}

constexpr int kFewLanes = 8, kManyLanes = 64;
constexpr int64_t kPiece = 512;  // elements that are changed, then folded
constexpr int64_t kShortRow = 32, kSideBySide = 16;

// How two vectors of folded values become one. A NaN stays.
struct Sum {
  template <class T>
  static constexpr T kStart = T{0};
  template <class D, class V>
  static V Merge(D, V a, V b) {
    return hn::Add(a, b);
  }
};
struct Product {
  template <class T>
  static constexpr T kStart = T{1};
  template <class D, class V>
  static V Merge(D, V a, V b) {
    return hn::Mul(a, b);
  }
};
struct Max {
  template <class T>
  static constexpr T kStart = Lowest<T>();
  template <class D, class V>
  static V Merge(D, V a, V b) {
    if constexpr (!hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Max(a, b);
    } else {
      return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
    }
  }
};
struct Min {
  template <class T>
  static constexpr T kStart = Highest<T>();
  template <class D, class V>
  static V Merge(D, V a, V b) {
    if constexpr (!hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Min(a, b);
    } else {
      return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
    }
  }
};

// Halves of a vector with each other until one lane is left.
template <class F, class D>
hn::TFromD<D> FoldVector([[maybe_unused]] D d, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR  // has no halves
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    return FoldVector<F>(half, F::Merge(half, hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}

// body(0), body(1), ... without a loop, in which the compiler would keep vectors in memory. Vectors of one
// lane may lie there.
template <int kTimes, class Body>
HWY_INLINE void Each(Body body) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < kTimes; ++i) body(i);
#else
  [&]<int... i>(std::integer_sequence<int, i...>) { (body(i), ...); }
  (std::make_integer_sequence<int, kTimes>());
#endif
}

template <int kWidth, class F, class D>
HWY_INLINE void FoldHalves(D d, hn::Vec<D>* lane) {
  if constexpr (kWidth > 0) {
    Each<kWidth>([&](int v) { lane[v] = F::Merge(d, lane[v], lane[v + kWidth]); });
    FoldHalves<kWidth / 2, F>(d, lane);
  }
}

// In so many lanes, whatever a vector has of them, so that every processor gives the same number.
template <int kLanes, class T, class F>
T FoldLanes(const T* x, int64_t n, Elements<T> elements, T p) {
  const hn::CappedTag<T, kLanes> d;
  constexpr int kEach = hn::MaxLanes(hn::CappedTag<T, kLanes>()), kVectors = kLanes / kEach;
  hn::Vec<decltype(d)> lane[kVectors];
  const auto add = [&](const T* from) {
    Each<kVectors>([&](int v) { lane[v] = F::Merge(d, lane[v], hn::LoadU(d, from + v * kEach)); });
  };
  Each<kVectors>([&](int v) { lane[v] = hn::Set(d, F::template kStart<T>); });
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    alignas(64) T buffer[kPiece];
    const T* from = x + begin;
    const int64_t m = std::min(kPiece, n - begin);
    if (elements != nullptr) elements(buffer, from, m, p), from = buffer;
    int64_t i = 0;
    for (; i + kLanes <= m; i += kLanes) add(from + i);
    Each<kVectors>([&](int v) {
      const int64_t first = i + v * kEach;
      if (first < m)
        lane[v] = F::Merge(d, lane[v], LoadSome(d, from + first, m - first, F::template kStart<T>));
    });
  }
  FoldHalves<kVectors / 2, F>(d, lane);
  return FoldVector<F>(d, lane[0]);
}

// Once for each fold, not once more in each of its callers: it takes long to compile.
template <class T, class F>
HWY_NOINLINE T FoldLong(const T* x, int64_t n, Elements<T> elements, T p) {
  return FoldLanes<kManyLanes, T, F>(x, n, elements, p);
}

// Short rows do not fill the many lanes that long ones are fastest with.
template <class T, class F>
HWY_NOINLINE T FoldRow(const T* x, int64_t n, Elements<T> elements, T p) {
  return n < kManyLanes ? FoldLanes<kFewLanes, T, F>(x, n, elements, p) : FoldLong<T, F>(x, n, elements, p);
}

template <class T, class F>
T MergeTwo(T a, T b) {
  const hn::CappedTag<T, 1> d;
  return hn::GetLane(F::Merge(d, hn::Set(d, a), hn::Set(d, b)));
}

template <class T, class F>
void MergeInto(T* acc, const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(F::Merge(d, hn::LoadU(d, acc + i), hn::LoadU(d, x + i)), d, acc + i);
  for (; i < n; ++i) hn::StoreU(F::Merge(one, hn::LoadU(one, acc + i), hn::LoadU(one, x + i)), one, acc + i);
}

// What many rows are folded to stays in registers.
template <class T, class F>
void MergeRows(T* acc, const T* x, int64_t step, int64_t rows, int64_t n) {
  constexpr int kVectors = 4;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + kVectors * lanes <= n; i += kVectors * lanes) {
    T* to = acc + i;
    const T* from = x + i;
    auto a = hn::LoadU(d, to), b = hn::LoadU(d, to + lanes);
    auto c = hn::LoadU(d, to + 2 * lanes), e = hn::LoadU(d, to + 3 * lanes);
    for (int64_t r = 0; r < rows; ++r, from += step) {
      a = F::Merge(d, a, hn::LoadU(d, from)), b = F::Merge(d, b, hn::LoadU(d, from + lanes));
      c = F::Merge(d, c, hn::LoadU(d, from + 2 * lanes)), e = F::Merge(d, e, hn::LoadU(d, from + 3 * lanes));
    }
    hn::StoreU(a, d, to), hn::StoreU(b, d, to + lanes);
    hn::StoreU(c, d, to + 2 * lanes), hn::StoreU(e, d, to + 3 * lanes);
  }
  for (; i + lanes <= n || (kMasksGuard && i < n); i += lanes) {
    auto some = LoadSome(d, acc + i, n - i, T{0});
    for (int64_t r = 0; r < rows; ++r) some = F::Merge(d, some, LoadSome(d, x + r * step + i, n - i, T{0}));
    StoreSome(some, d, acc + i, n - i);
  }
  for (int64_t r = 0; i < n && r < rows; ++r) MergeInto<T, F>(acc + i, x + r * step + i, n - i);
}

// Matrices of `rows` rows of n and `rest` elements behind them, which belong to the first columns.
struct MatrixWay {
  int64_t size, rows, n, rest;
};

// The columns of kWays of them: sums of one do not wait for those of another. At most kRun rows are added up
// one after the other.
template <int kWays, class T, class F>
void MergeMatrix(T* out, int64_t apart, const T* x, const MatrixWay& way) {
  constexpr int64_t kRun = 64;
  constexpr T kStart = F::template kStart<T>;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  for (int64_t i = 0; i < way.n; i += static_cast<int64_t>(hn::Lanes(d))) {
    const int64_t m = way.n - i, rest = std::max<int64_t>(way.rest - i, 0);
    V total[kWays], some[kWays];
    Each<kWays>(
        [&](int w) { total[w] = LoadSome(d, x + w * way.size + way.rows * way.n + i, rest, kStart); });
    for (int64_t first = 0; first < way.rows; first += kRun) {
      const int64_t end = std::min(way.rows, first + kRun);
      Each<kWays>([&](int w) { some[w] = hn::Set(d, kStart); });
      for (int64_t r = first; r < end; ++r) {
        Each<kWays>([&](int w) {
          some[w] = F::Merge(d, some[w], LoadSome(d, x + w * way.size + r * way.n + i, m, kStart));
        });
      }
      Each<kWays>([&](int w) { total[w] = F::Merge(d, total[w], some[w]); });
    }
    Each<kWays>([&](int w) { StoreSome(total[w], d, out + w * apart + i, m); });
  }
}

// Rows so short that several are taken as one.
template <int kWays, class T, class F>
void MergeNarrowMatrix(T* out, const T* x, int64_t rows, int64_t n) {
  const hn::CappedTag<T, kFewLanes / 2> d;
  const int64_t together = n > kFewLanes / 4 ? 2 : kFewLanes / 2;
  alignas(64) T wide[kWays][2 * kFewLanes] = {};
  MergeMatrix<kWays, T, F>(wide[0], 2 * kFewLanes, x,
                           {rows * n, rows / together, n * together, rows % together * n});
  for (int w = 0; w < kWays; ++w) {
    for (int64_t half = n * together / 2; half >= n; half /= 2) {
      for (int64_t i = 0; i < half; i += static_cast<int64_t>(hn::Lanes(d)))
        hn::StoreU(F::Merge(d, hn::LoadU(d, wide[w] + i), hn::LoadU(d, wide[w] + half + i)), d, wide[w] + i);
    }
    std::copy_n(wide[w], n, out + w * n);
  }
}

template <int kWays, class T, class F>
void MergeSomeMatrices(T* out, const T* x, int64_t rows, int64_t n) {
  if (n > 1 && n <= kFewLanes / 2) return MergeNarrowMatrix<kWays, T, F>(out, x, rows, n);
  MergeMatrix<kWays, T, F>(out, n, x, {rows * n, rows, n, 0});
}

template <class T, class F>
void MergeMatrices(T* out, const T* x, int64_t count, int64_t rows, int64_t n) {
  constexpr int kWays = 4;
  int64_t i = 0;
  for (; i + kWays <= count; i += kWays)
    MergeSomeMatrices<kWays, T, F>(out + i * n, x + i * rows * n, rows, n);
  for (; i < count; ++i) MergeSomeMatrices<1, T, F>(out + i * n, x + i * rows * n, rows, n);
}

template <class T, int64_t kSize>
void TurnOf(T* turned, const T* x) {
  for (int64_t r = 0; r < kSideBySide; ++r) {
    for (int64_t k = 0; k < kSize; ++k) turned[k * kSideBySide + r] = x[r * kSize + k];
  }
}

// Short rows side by side: turned[k][r] is x[r][k].
template <class T>
void Turn(T* turned, const T* x, int64_t n) {
  if (n == 2) return TurnOf<T, 2>(turned, x);
  if (n == 3) return TurnOf<T, 3>(turned, x);
  if (n == 4) return TurnOf<T, 4>(turned, x);
  if (n == 1) return TurnOf<T, 1>(turned, x);
  constexpr auto kElement = static_cast<int64_t>(sizeof(T));
  TurnBySquares<T>(reinterpret_cast<const char*>(x), n * kElement, reinterpret_cast<char*>(turned),
                   kSideBySide * kElement, kSideBySide, n);
}

// Lane by lane as FoldLanes has few of them, so that a row's result is the same however it is folded.
template <class T, class F>
void FoldTurned(T* out, const T* turned, int64_t n) {
  alignas(64) T lane[kFewLanes][kSideBySide];
  std::fill_n(lane[0], kFewLanes * kSideBySide, F::template kStart<T>);
  for (int64_t k = 0; k < n; ++k) MergeInto<T, F>(lane[k % kFewLanes], turned + k * kSideBySide, kSideBySide);
  for (int64_t width = kFewLanes / 2; width > 0; width /= 2) {
    for (int64_t k = 0; k < width; ++k) MergeInto<T, F>(lane[k], lane[k + width], kSideBySide);
  }
  std::copy_n(lane[0], kSideBySide, out);
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// Eight rows of a multiple of eight elements of 32 bits, whose eight lanes are folded side by side: halves
// with each other, as FoldVector does.
template <class T, class F>
HWY_INLINE void FoldEightRows(T* out, const T* x, int64_t n) {
  const hn::FixedTag<T, 8> d;
  const hn::Repartition<uint64_t, decltype(d)> pairs;
  const auto lanes_of = [&](int64_t r) {
    const T* row = x + r * n;
    auto lane = F::Merge(d, hn::Set(d, F::template kStart<T>), hn::LoadU(d, row));
    for (int64_t k = 8; k < n; k += 8) lane = F::Merge(d, lane, hn::LoadU(d, row + k));
    return lane;
  };
  // Two rows, whose four halves of halves lie in a block each
  const auto two = [&](int64_t r) {
    const auto a = lanes_of(r), b = lanes_of(r + 1);
    return F::Merge(d, hn::ConcatLowerLower(d, b, a), hn::ConcatUpperUpper(d, b, a));
  };
  // Four rows: of r and r + 2 two lanes each in the first block, of r + 1 and r + 3 in the second
  const auto four = [&](int64_t r) {
    const auto a = hn::BitCast(pairs, two(r)), b = hn::BitCast(pairs, two(r + 2));
    return F::Merge(d, hn::BitCast(d, hn::InterleaveLower(pairs, a, b)),
                    hn::BitCast(d, hn::InterleaveUpper(pairs, a, b)));
  };
  const auto a = four(0), b = four(4);
  alignas(32) T all[8];
  hn::Store(F::Merge(d, hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a)), d, all);
  // a is rows 0, 2, 1, 3, b is 4, 6, 5, 7
  static constexpr int kRow[8] = {0, 2, 1, 3, 4, 6, 5, 7};
  for (int i = 0; i < 8; ++i) out[kRow[i]] = all[i];
}
#endif

template <class T, class F>
HWY_NOINLINE void FoldPlainRows(T* out, const T* x, int64_t rows, int64_t n) {
  alignas(64) T turned[kShortRow * kSideBySide];
  int64_t r = 0;
  for (; n <= kShortRow && n % kFewLanes != 0 && r + kSideBySide <= rows; r += kSideBySide) {
    Turn(turned, x + r * n, n);
    FoldTurned<T, F>(out + r, turned, n);
  }
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == sizeof(float)) {
    for (; n > 0 && n < kManyLanes && n % kFewLanes == 0 && r + 8 <= rows; r += 8) {
      FoldEightRows<T, F>(out + r, x + r * n, n);
    }
  }
#endif
  if (n < kManyLanes) {
    for (; r < rows; ++r) out[r] = FoldLanes<kFewLanes, T, F>(x + r * n, n, nullptr, T{0});
  }
  for (; r < rows; ++r) out[r] = FoldLong<T, F>(x + r * n, n, nullptr, T{0});
}

template <class T, class F>
void FoldRows(T* out, const T* x, int64_t rows, int64_t n, Elements<T> elements, const T* p) {
  if (elements == nullptr || n == 0) return FoldPlainRows<T, F>(out, x, rows, n);
  const int64_t together = kPiece / n;
  if (together <= 1) {
    for (int64_t r = 0; r < rows; ++r) out[r] = FoldRow<T, F>(x + r * n, n, elements, p[r]);
    return;
  }
  for (int64_t r = 0; r < rows; r += together) {
    alignas(64) T buffer[kPiece];
    const int64_t m = std::min(together, rows - r);
    if (std::all_of(p + r, p + r + m, [&](T each) { return each == p[r]; })) {
      elements(buffer, x + r * n, m * n, p[r]);
    } else {
      for (int64_t k = 0; k < m; ++k) elements(buffer + k * n, x + (r + k) * n, n, p[r + k]);
    }
    FoldPlainRows<T, F>(out + r, buffer, m, n);
  }
}

inline int64_t Exp(int64_t x) { return static_cast<int64_t>(std::exp(static_cast<double>(x))); }

// What becomes of an element x before it is folded.
#define BELAY_DEFINE_ELEMENT(Name, element)         \
  template <class T>                                \
  void Name(T* to, const T* from, int64_t n, T p) { \
    (void)p;                                        \
    for (int64_t i = 0; i < n; ++i) {               \
      const T x = from[i];                          \
      to[i] = element;                              \
    }                                               \
  }
BELAY_DEFINE_ELEMENT(Size, x < 0 ? -x : x)
BELAY_DEFINE_ELEMENT(Square, (x - p) * (x - p))
BELAY_DEFINE_ELEMENT(Power, static_cast<T>(std::pow(x < 0 ? -x : x, p)))
BELAY_DEFINE_ELEMENT(Exponential, Exp(static_cast<T>(x - p)))
BELAY_DEFINE_ELEMENT(IsOther, x != 0 ? T{1} : T{0})
BELAY_DEFINE_ELEMENT(Number, x != x ? T{0} : x)

template <class F, class T>
constexpr FoldLoops<T> Of(Elements<T> elements = nullptr, T start = F::template kStart<T>) {
  return {start,
          elements,
          &FoldRow<T, F>,
          &FoldRows<T, F>,
          &MergeInto<T, F>,
          &MergeRows<T, F>,
          &MergeMatrices<T, F>,
          &MergeTwo<T, F>};
}

template <class T>
const FoldLoops<T>* Loops() {
  // In the order of Fold. Of 32-bit integers only what is modulo 2^32 as of 64 bits.
  if constexpr (std::is_same_v<T, int32_t>) {
    static constexpr FoldLoops<T> kLoops[kFolds] = {Of<Sum, T>(),     {},           {},          {}, {}, {},
                                                    Of<Product, T>(), Of<Max, T>(), Of<Min, T>()};
    return kLoops;
  } else {
    static constexpr FoldLoops<T> kLoops[kFolds] = {Of<Sum, T>(),
                                                    Of<Sum, T>(&Size),
                                                    Of<Sum, T>(&Square),
                                                    Of<Sum, T>(&Power),
                                                    Of<Sum, T>(&Exponential),
                                                    Of<Sum, T>(&IsOther),
                                                    Of<Product, T>(),
                                                    Of<Max, T>(),
                                                    Of<Min, T>(),
                                                    Of<Max, T>(&Size, T{0}),
                                                    Of<Min, T>(&Size),
                                                    Of<Sum, T>(&Number)};
    return kLoops;
  }
}
const FoldLoops<float>* FoldsF32() { return Loops<float>(); }
const FoldLoops<double>* FoldsF64() { return Loops<double>(); }
const FoldLoops<int32_t>* FoldsI32() { return Loops<int32_t>(); }
const FoldLoops<int64_t>* FoldsI64() { return Loops<int64_t>(); }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(FoldsF32);
BELAY_SIMD_EXPORT(FoldsF64);
BELAY_SIMD_EXPORT(FoldsI32);
BELAY_SIMD_EXPORT(FoldsI64);
template <>
const FoldLoops<float>& BestFoldLoops(Fold fold) {
  return BELAY_SIMD_CALL(FoldsF32)()[static_cast<int>(fold)];
}
template <>
const FoldLoops<double>& BestFoldLoops(Fold fold) {
  return BELAY_SIMD_CALL(FoldsF64)()[static_cast<int>(fold)];
}
template <>
const FoldLoops<int32_t>& BestFoldLoops(Fold fold) {
  return BELAY_SIMD_CALL(FoldsI32)()[static_cast<int>(fold)];
}
template <>
const FoldLoops<int64_t>& BestFoldLoops(Fold fold) {
  return BELAY_SIMD_CALL(FoldsI64)()[static_cast<int>(fold)];
}
}  // namespace belay::ops
#endif
