#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm/norm_loops.cc"
#include "ops/norm/norm_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_OPS_NORM_LOOPS_ONCE
#define BELAY_OPS_NORM_LOOPS_ONCE
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
void Scale(T* y, const T* x, T factor, T shift, int64_t n) {
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor + shift;
}

template <class T>
void AddSquares(T* sum, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i] * x[i];
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

// The sum of of(vector of x) over a row; what is left behind whole vectors is one of them that is partly
// zero.
template <class Of>
HWY_INLINE float SumOf(const float* x, int64_t n, const Of& of) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto even = hn::Zero(d), odd = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even = hn::Add(even, of(hn::LoadU(d, x + i)));
    odd = hn::Add(odd, of(hn::LoadU(d, x + i + lanes)));
  }
  if (i + lanes <= n) even = hn::Add(even, of(hn::LoadU(d, x + i))), i += lanes;
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(n - i));
    odd = hn::Add(odd, hn::IfThenElseZero(mask, of(hn::MaskedLoad(mask, d, x + i))));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

HWY_ATTR bool Row(float* y, const float* x, const float* weight, const float* bias, int64_t n,
                  const RowRule& rule, RowMoments* found) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto sum = static_cast<double>(SumOf(x, n, [](V v) HWY_ATTR { return v; }));
  const auto mean = static_cast<float>(sum * rule.share);
  const V shift = hn::Set(d, mean);
  const float squares = SumOf(x, n, [shift](V v) HWY_ATTR {
    const V off = hn::Sub(v, shift);
    return hn::Mul(off, off);
  });
  found->mean = static_cast<double>(mean), found->variance = static_cast<double>(squares) * rule.share;
  if (found->mean * found->mean > rule.far * found->variance) return false;
  const double root = rule.epsilon_outside ? std::sqrt(found->variance) + rule.epsilon
                                           : std::sqrt(found->variance + rule.epsilon);
  found->factor = static_cast<float>(1 / root);
  Apply(y, x, weight, bias, mean, found->factor, n);
  return true;
}

constexpr NormLoops<float> kF32{&Apply<float>, &Scale<float>, &AddSquares<float>, &Deviations<float>, &Row};
constexpr NormLoops<double> kF64{&Apply<double>, &Scale<double>, &AddSquares<double>, &Deviations<double>,
                                 nullptr};
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
