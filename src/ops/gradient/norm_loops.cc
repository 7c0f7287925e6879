#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gradient/norm_loops.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_OPS_GRADIENT_NORM_LOOPS_ONCE
#define BELAY_OPS_GRADIENT_NORM_LOOPS_ONCE
#include <algorithm>

#include "ops/gradient/norm_loops.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

template <bool kWeighted>
void SumsOf(const float* g, const float* x, const float* w, float mean, float rstd, int64_t n,
            NormSums* sums) {
  constexpr int64_t kLanes = NormSums::kLanes, kFew = 8;
  const auto add = [&](int64_t k, int64_t lane, float* first, float* second) {
    const float scaled = kWeighted ? g[k] * w[k] : g[k];
    first[lane] += scaled, second[lane] += scaled * ((x[k] - mean) * rstd);
  };
  // Those of a few numbers are added up in f32, which rounds them no more than they are already.
  for (int64_t i = 0; i < n;) {
    float first[kLanes] = {}, second[kLanes] = {};
    const int64_t whole = std::min<int64_t>(kFew, (n - i) / kLanes);
    for (int64_t row = 0; row < whole; ++row, i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane, first, second);
    }
    if (whole < kFew) {
      for (int64_t lane = 0; i < n; ++i, ++lane) add(i, lane, first, second);
    }
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      sums->lanes(0)[lane] += static_cast<double>(first[lane]);
      sums->lanes(1)[lane] += static_cast<double>(second[lane]);
    }
  }
}

void Sums(const float* g, const float* x, const float* w, float mean, float rstd, int64_t n, NormSums* sums) {
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
