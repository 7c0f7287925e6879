#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm/norm_loops.cc"
#include "ops/norm/norm_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/some_lanes-inl.h"

#ifndef BELAY_OPS_NORM_LOOPS_ONCE
#define BELAY_OPS_NORM_LOOPS_ONCE
#include <algorithm>
#include <cmath>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void Apply(T* y, const T* x, const T* weight, const T* bias, T shift, T factor, int64_t n) {
  if (weight != nullptr && bias != nullptr) {
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {
      y[i] = (x[i] - shift) * factor * weight[i] + bias[i];
    }
  } else if (weight != nullptr) {
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - shift) * factor * weight[i];
  } else if (bias != nullptr) {
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - shift) * factor + bias[i];
  } else {
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - shift) * factor;
  }
}

template <class T>
void Change(T* y, const T* x, const T* shift, const T* factor, const T* bias, int64_t n) {
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - shift[i]) * factor[i] + bias[i];
}

template <class T>
HWY_ATTR void ChangeRows(T* y, const T* x, const T* shifts, const T* factors, const T* biases, int64_t rows,
                         int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const auto shift = hn::Set(d, shifts[r]), factor = hn::Set(d, factors[r]), bias = hn::Set(d, biases[r]);
    const auto changed = [&](auto v) { return hn::Add(hn::Mul(hn::Sub(v, shift), factor), bias); };
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(changed(hn::LoadU(d, x + i)), d, y + i);
    if (i < n) StoreSome(changed(LoadSome(d, x + i, n - i, T{0})), d, y + i, n - i);
  }
}

template <class T>
void Scale(T* y, const T* x, T factor, T shift, int64_t n) {
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor + shift;
}

template <class T>
void Add(T* sum, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

template <class T>
void AddSquares(T* sum, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i] * x[i];
}

template <class T>
void AddSizes(T* sum, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += std::abs(x[i]);
}

template <class T>
void Deviations(const T* x, T shift, int64_t n, double* sum, double* squares) {
  constexpr int64_t kLanes = 8;
  double sums[kLanes] = {}, sums_of_squares[kLanes] = {};
  const auto take = [&](int64_t i, int64_t k) {
    const double d = static_cast<double>(x[i + k]) - static_cast<double>(shift);
    sums[k] += d, sums_of_squares[k] += d * d;
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) take(i, k);
  }
  for (int64_t k = 0; i + k < n; ++k) take(i, k);
  *sum = *squares = 0;
  for (int64_t k = 0; k < kLanes; ++k) *sum += sums[k], *squares += sums_of_squares[k];
}

// The sum of of(vector of x) over a row, whose last vector has `rest` behind the end: of(rest) is 0.
template <class Of>
HWY_INLINE float SumOf(const float* x, int64_t n, float rest, const Of& of) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto even = hn::Zero(d), odd = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even = hn::Add(even, of(hn::LoadU(d, x + i)));
    odd = hn::Add(odd, of(hn::LoadU(d, x + i + lanes)));
  }
  if (i + lanes <= n) even = hn::Add(even, of(hn::LoadU(d, x + i))), i += lanes;
  if (i < n) odd = hn::Add(odd, of(LoadSome(d, x + i, n - i, rest)));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

HWY_ATTR float SumOfSquares(const float* x, float shift, int64_t n) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V middle = hn::Set(d, shift);
  return SumOf(x, n, shift, [middle](V v) HWY_ATTR {
    const V off = hn::Sub(v, middle);
    return hn::Mul(off, off);
  });
}

HWY_ATTR float SumOfSizes(const float* x, int64_t n) {
  return SumOf(x, n, 0, [](hn::Vec<hn::ScalableTag<float>> v) HWY_ATTR { return hn::Abs(v); });
}

HWY_INLINE float FactorOf(double variance, const RowRule& rule) {
  if (rule.zero_stays && variance == 0) return 0;
  if (rule.of_sizes) return static_cast<float>(1 / variance);
  const double root =
      rule.epsilon_outside ? std::sqrt(variance) + rule.epsilon : std::sqrt(variance + rule.epsilon);
  return static_cast<float>(1 / root);
}

// What each element of a row is multiplied by, and what is added then; both may be null.
struct Weights {
  const float *weight, *bias;
  HWY_INLINE void Apply(float* y, const float* x, float shift, float factor, int64_t n) const {
    HWY_NAMESPACE::Apply(y, x, weight, bias, shift, factor, n);
  }
  template <class D, class V>
  HWY_INLINE V Of(D d, V value, int64_t n) const {
    if (weight != nullptr) value = hn::Mul(value, LoadSome(d, weight, n, 0));
    return bias != nullptr ? hn::Add(value, LoadSome(d, bias, n, 0)) : value;
  }
};

// The same for all elements.
struct Channel {
  float weight, bias;
  HWY_INLINE void Apply(float* y, const float* x, float shift, float factor, int64_t n) const {
    const float both = factor * weight, plus = bias;
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - shift) * both + plus;
  }
  template <class D, class V>
  HWY_INLINE V Of(D d, V value, int64_t) const {
    return hn::Add(hn::Mul(value, hn::Set(d, weight)), hn::Set(d, bias));
  }
};

// A row within one vector. False: its mean is far from zero, and nothing was written.
template <class W>
HWY_ATTR bool RowOfOne(float* y, const float* x, const W& weights, int64_t n, const RowRule& rule,
                       RowMoments* found) {
  const hn::ScalableTag<float> d;
  const auto values = LoadSome(d, x, n, 0);
  const auto share = static_cast<float>(rule.share);
  const auto mean = rule.centred ? hn::Mul(hn::SumOfLanes(d, values), hn::Set(d, share)) : hn::Zero(d);
  const auto off = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n)), hn::Sub(values, mean));
  found->mean = static_cast<double>(hn::GetLane(mean));
  const auto sizes = rule.of_sizes ? hn::Abs(off) : hn::Mul(off, off);
  found->variance = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sizes))) * rule.share;
  if (found->mean * found->mean > rule.far * found->variance) return false;
  found->factor = FactorOf(found->variance, rule);
  StoreSome(weights.Of(d, hn::Mul(off, hn::Set(d, found->factor)), n), d, y, n);
  return true;
}

template <class W>
HWY_ATTR void RowWith(float* y, const float* x, const W& weights, int64_t n, const RowRule& rule,
                      RowMoments* found) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  if (n <= static_cast<int64_t>(hn::Lanes(d)) && RowOfOne(y, x, weights, n, rule, found)) return;
  float mean = 0;
  if (rule.centred) {
    const auto sum = static_cast<double>(SumOf(x, n, 0, [](V v) HWY_ATTR { return v; }));
    mean = static_cast<float>(sum * rule.share);
  }
  found->mean = static_cast<double>(mean);
  found->variance =
      static_cast<double>(rule.of_sizes ? SumOfSizes(x, n) : SumOfSquares(x, mean, n)) * rule.share;
  if (found->mean * found->mean > rule.far * found->variance) {
    double rest, squares;
    Deviations(x, mean, n, &rest, &squares);
    rest *= rule.share;
    found->mean += rest, found->variance = std::max(squares * rule.share - rest * rest, 0.0);
    Apply(y, x, static_cast<const float*>(nullptr), static_cast<const float*>(nullptr), mean, 1.0f, n);
    x = y, mean = static_cast<float>(rest);
  }
  found->factor = FactorOf(found->variance, rule);
  weights.Apply(y, x, mean, found->factor, n);
}

void Row(float* y, const float* x, const float* weight, const float* bias, int64_t n, const RowRule& rule,
         RowMoments* found) {
  RowWith(y, x, Weights{weight, bias}, n, rule, found);
}

void RowOfChannel(float* y, const float* x, float weight, float bias, int64_t n, const RowRule& rule,
                  RowMoments* found) {
  RowWith(y, x, Channel{weight, bias}, n, rule, found);
}

template <class T>
constexpr NormLoops<T> LoopsOf(decltype(NormLoops<T>::row) row,
                               decltype(NormLoops<T>::row_of_channel) of_channel) {
  return {&Apply<T>,      &Change<T>,   &ChangeRows<T>, &Scale<T>, &Add<T>,
          &AddSquares<T>, &AddSizes<T>, &Deviations<T>, row,       of_channel};
}
constexpr auto kF32 = LoopsOf<float>(&Row, &RowOfChannel);
constexpr auto kF64 = LoopsOf<double>(nullptr, nullptr);
const NormLoops<float>& NormsF32() { return kF32; }
const NormLoops<double>& NormsF64() { return kF64; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(NormsF32);
BELAY_SIMD_EXPORT(NormsF64);
template <>
const NormLoops<float>& BestNormLoops() {
  return BELAY_SIMD_CALL(NormsF32)();
}
template <>
const NormLoops<double>& BestNormLoops() {
  return BELAY_SIMD_CALL(NormsF64)();
}
}  // namespace belay::ops
#endif
