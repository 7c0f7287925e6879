#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm/norm_loops.cc"
#include "ops/norm/norm_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

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

constexpr NormLoops<float> kF32{&Apply<float>, &Scale<float>, &AddSquares<float>, &Deviations<float>};
constexpr NormLoops<double> kF64{&Apply<double>, &Scale<double>, &AddSquares<double>, &Deviations<double>};
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
