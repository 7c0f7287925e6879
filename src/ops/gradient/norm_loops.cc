#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gradient/norm_loops.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_OPS_GRADIENT_NORM_LOOPS_ONCE
#define BELAY_OPS_GRADIENT_NORM_LOOPS_ONCE
#include "ops/gradient/norm_loops.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

// Added up in f64 in lanes, whose order no processor changes.
template <bool kWeighted>
void SumsOf(const float* g, const float* x, const float* w, float mean, float rstd, int64_t n, double* sums) {
  constexpr int64_t kLanes = 16;
  double first[kLanes] = {}, second[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const int64_t k = i + lane;
      const float scaled = kWeighted ? g[k] * w[k] : g[k];
      first[lane] += static_cast<double>(scaled);
      second[lane] += static_cast<double>(scaled * ((x[k] - mean) * rstd));
    }
  }
  for (; i < n; ++i) {
    const float scaled = kWeighted ? g[i] * w[i] : g[i];
    first[i % kLanes] += static_cast<double>(scaled);
    second[i % kLanes] += static_cast<double>(scaled * ((x[i] - mean) * rstd));
  }
  for (int64_t lane = 0; lane < kLanes; ++lane) sums[0] += first[lane], sums[1] += second[lane];
}

void Sums(const float* g, const float* x, const float* w, float mean, float rstd, int64_t n, double* sums) {
  w == nullptr ? SumsOf<false>(g, x, w, mean, rstd, n, sums) : SumsOf<true>(g, x, w, mean, rstd, n, sums);
}

void Apply(float* dx, const float* g, const float* x, const float* w, float scale, float mean, float rstd,
           const float* both, int64_t n) {
  const float common = both[0], slope = both[1];
  if (w == nullptr) {
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {
      dx[i] = rstd * (g[i] * scale - common - (x[i] - mean) * rstd * slope);
    }
    return;
  }
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {
    dx[i] = rstd * (g[i] * w[i] * scale - common - (x[i] - mean) * rstd * slope);
  }
}

void Columns(const float* g, const float* x, float mean, float rstd, int64_t n, double* weight,
             double* bias) {
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {
    weight[i] += static_cast<double>(g[i] * ((x[i] - mean) * rstd));
    bias[i] += static_cast<double>(g[i]);
  }
}

const NormGradientLoops* TheNormGradientLoops() {
  static constexpr NormGradientLoops kLoops{&Sums, &Apply, &Columns};
  return &kLoops;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {

BELAY_SIMD_EXPORT(TheNormGradientLoops);

const NormGradientLoops& BestNormGradientLoops() { return *BELAY_SIMD_CALL(TheNormGradientLoops)(); }

}  // namespace belay::ops
#endif  // HWY_ONCE
