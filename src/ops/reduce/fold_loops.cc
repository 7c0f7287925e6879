#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/fold_loops.cc"
#include "ops/reduce/fold_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"

#ifndef BELAY_OPS_FOLD_ONCE
#define BELAY_OPS_FOLD_ONCE
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

inline int64_t Exp(int64_t x) { return static_cast<int64_t>(std::exp(static_cast<double>(x))); }

template <class T>
constexpr T Lowest() {
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}
template <class T>
constexpr T Highest() {
  return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}

// clang-format off
// name, first value, an element x with the parameter p, two folded values a and b
#define BELAY_FOLDS(X)                                                              \
  X(Sum, T{0}, x, a + b)                                                            \
  X(SumOfSizes, T{0}, x < 0 ? -x : x, a + b)                                        \
  X(SumOfSquares, T{0}, (x - p) * (x - p), a + b)                                   \
  X(SumOfPowers, T{0}, static_cast<T>(std::pow(x < 0 ? -x : x, p)), a + b)          \
  X(SumOfExps, T{0}, Exp(static_cast<T>(x - p)), a + b)                             \
  X(Count, T{0}, x != 0 ? T{1} : T{0}, a + b)                                       \
  X(Product, T{1}, x, a* b)                                                         \
  X(Max, Lowest<T>(), x, b != b ? b : (b > a ? b : a))                                   \
  X(Min, Highest<T>(), x, b != b ? b : (b < a ? b : a))                                  \
  X(MaxOfSizes, T{0}, x < 0 ? -x : x, b != b ? b : (b > a ? b : a))                      \
  X(MinOfSizes, Highest<T>(), x < 0 ? -x : x, b != b ? b : (b < a ? b : a))              \
  X(SumOfNumbers, T{0}, x != x ? T{0} : x, a + b)
// clang-format on

#define BELAY_DEFINE_FOLD(Name, start, element, merged) \
  struct Name {                                         \
    template <class T>                                  \
    static T Start() {                                  \
      return start;                                     \
    }                                                   \
    template <class T>                                  \
    static T Element(T x, [[maybe_unused]] T p) {       \
      return element;                                   \
    }                                                   \
    template <class T>                                  \
    static T Merge(T a, T b) {                          \
      return merged;                                    \
    }                                                   \
  };
BELAY_FOLDS(BELAY_DEFINE_FOLD)

template <int kLanes, class T, class F>
T FoldLanes(const T* x, int64_t n, T p) {
  alignas(64) T lane[kLanes];
  for (T& value : lane) value = F::template Start<T>();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) lane[k] = F::Merge(lane[k], F::Element(x[i + k], p));
  }
  for (int k = 0; i < n; ++i, ++k) lane[k] = F::Merge(lane[k], F::Element(x[i], p));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int k = 0; k < width; ++k) lane[k] = F::Merge(lane[k], lane[k + width]);
  }
  return lane[0];
}

// Short rows do not fill the many lanes that long ones are fastest with.
template <class T, class F>
T FoldRow(const T* x, int64_t n, T p) {
  return n < 64 ? FoldLanes<8, T, F>(x, n, p) : FoldLanes<64, T, F>(x, n, p);
}

constexpr int64_t kSideBySide = 16;  // rows
constexpr int64_t kShortRow = 16;

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
  if (n == 4) return TurnOf<T, 4>(turned, x);
  if (n == 8) return TurnOf<T, 8>(turned, x);
  for (int64_t r = 0; r < kSideBySide; ++r) {
    for (int64_t k = 0; k < n; ++k) turned[k * kSideBySide + r] = x[r * n + k];
  }
}

// Lane by lane as FoldLanes<8> has them, so that a row's result is the same however it is folded.
template <class T, class F>
void FoldTurned(T* out, const T* turned, int64_t n, const T* p) {
  alignas(64) T lane[8][kSideBySide];
  for (int64_t k = 0; k < 8; ++k) std::fill_n(lane[k], kSideBySide, F::template Start<T>());
  for (int64_t k = 0; k < n; ++k) {
    T* to = lane[k & 7];
    const T* x = turned + k * kSideBySide;
    _Pragma("GCC ivdep") for (int64_t r = 0; r < kSideBySide; ++r) to[r] =
        F::Merge(to[r], F::Element(x[r], p[r]));
  }
  for (int64_t width = 4; width > 0; width /= 2) {
    for (int64_t k = 0; k < width; ++k) {
      T* to = lane[k];
      const T* x = lane[k + width];
      _Pragma("GCC ivdep") for (int64_t r = 0; r < kSideBySide; ++r) to[r] = F::Merge(to[r], x[r]);
    }
  }
  std::copy_n(lane[0], kSideBySide, out);
}

template <class T, class F>
void FoldRows(T* out, const T* x, int64_t rows, int64_t n, const T* p) {
  alignas(64) T turned[kShortRow * kSideBySide];
  int64_t r = 0;
  for (; n <= kShortRow && r + kSideBySide <= rows; r += kSideBySide) {
    Turn(turned, x + r * n, n);
    FoldTurned<T, F>(out + r, turned, n, p + r);
  }
  for (; r < rows; ++r) out[r] = FoldRow<T, F>(x + r * n, n, p[r]);
}

template <class T, class F>
void FoldInto(T* acc, const T* x, int64_t n, T p) {
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) acc[i] = F::Merge(acc[i], F::Element(x[i], p));
}

template <class T, class F>
void MergeInto(T* acc, const T* x, int64_t n) {
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) acc[i] = F::Merge(acc[i], x[i]);
}

// Of 32-bit integers only what is modulo 2^32 as of 64 bits.
template <class T, class F>
constexpr bool kHasLoops = !std::is_same_v<T, int32_t> || std::is_same_v<F, Sum> ||
                           std::is_same_v<F, Product> || std::is_same_v<F, Max> || std::is_same_v<F, Min>;

template <class T, class F>
constexpr FoldLoops<T> LoopsOf() {
  if constexpr (kHasLoops<T, F>) {
    return {F::template Start<T>(), &FoldRow<T, F>,   &FoldRows<T, F>,
            &FoldInto<T, F>,        &MergeInto<T, F>, &F::template Merge<T>};
  } else {
    return {};
  }
}

template <class T>
const FoldLoops<T>* Loops() {
#define BELAY_FOLD_ROW(Name, start, element, merged) LoopsOf<T, Name>(),
  static const FoldLoops<T> loops[kFolds] = {BELAY_FOLDS(BELAY_FOLD_ROW)};
  return loops;
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
