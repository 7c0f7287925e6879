#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resize/resample_loops.cc"
#include "ops/resize/resample_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/some_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A product is rounded before it is added, so that every processor gives the same numbers.

HWY_ATTR void WeighRows(float* out, const float* from, const int64_t* index, const float* weights,
                        int64_t taps, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {
    auto a = hn::Zero(d), b = hn::Zero(d);
    for (int64_t k = 0; k < taps; ++k) {
      const float* x = from + index[k] * n + i;
      const auto weight = hn::Set(d, weights[k]);
      a = hn::Add(a, hn::Mul(weight, hn::LoadU(d, x)));
      b = hn::Add(b, hn::Mul(weight, hn::LoadU(d, x + step)));
    }
    hn::StoreU(a, d, out + i);
    hn::StoreU(b, d, out + i + step);
  }
  for (; i < n; i += step) {
    auto sum = hn::Zero(d);
    for (int64_t k = 0; k < taps; ++k) {
      const auto x = LoadSome(d, from + index[k] * n + i, n - i, 0);
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[k]), x));
    }
    StoreSome(sum, d, out + i, n - i);
  }
}

template <int kTaps>
HWY_ATTR void Pick(float* out, const float* row, const int32_t* index, const float* weights, int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    auto sum = hn::Zero(d);
    for (int64_t k = 0; k < kTaps; ++k) {
      const auto x = hn::GatherIndex(d, row, hn::LoadU(di, index + k * n + i));
      sum = hn::Add(sum, hn::Mul(hn::LoadU(d, weights + k * n + i), x));
    }
    hn::StoreU(sum, d, out + i);
  }
  for (; i < n; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < kTaps; ++k) sum += weights[k * n + i] * row[index[k * n + i]];
    out[i] = sum;
  }
}

HWY_ATTR void PickAny(float* out, const float* row, const int32_t* index, const float* weights, int64_t taps,
                      int64_t n) {
  static_assert(kMostPicked == 4);
  switch (taps) {
    case 1:
      return Pick<1>(out, row, index, weights, n);
    case 2:
      return Pick<2>(out, row, index, weights, n);
    case 3:
      return Pick<3>(out, row, index, weights, n);
    default:
      return Pick<4>(out, row, index, weights, n);
  }
}

constexpr ResampleLoops kLoops{&WeighRows, &PickAny};
const ResampleLoops& ResampleLoopsHere() { return kLoops; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(ResampleLoopsHere);
const ResampleLoops& BestResampleLoops() { return BELAY_SIMD_CALL(ResampleLoopsHere)(); }
}  // namespace belay::ops
#endif
