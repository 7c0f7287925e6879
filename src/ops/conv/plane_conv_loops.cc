#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/conv/plane_conv_loops.cc"
#include "ops/conv/plane_conv_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// kVectors sums at once, which share the weights and do not wait for each other.
template <int kVectors>
HWY_INLINE int64_t Block(float* to, const PlaneTaps& t) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kVectors];
  for (auto& sum : sums) sum = hn::Set(d, t.bias);
  for (int64_t k = 0; k < t.taps; ++k) {
    const float* from = t.from + t.offsets[k];
    const auto weight = hn::Set(d, t.weights[k]);
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::MulAdd(weight, hn::LoadU(d, from + v * lanes), sums[v]);
  }
  const auto low = hn::Set(d, t.low), high = hn::Set(d, t.high);
  for (int v = 0; v < kVectors; ++v) {
    const auto above = hn::IfThenElse(hn::Lt(sums[v], low), low, sums[v]);
    hn::StoreU(hn::IfThenElse(hn::Gt(above, high), high, above), d, to + v * lanes);
  }
  return kVectors * lanes;
}

HWY_ATTR void Taps(float* to, const PlaneTaps& given, int64_t n) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  PlaneTaps t = given;
  for (int64_t i = 0, done; i < n; i += done, to += done, t.from += done) {
    const int64_t vectors = (n - i + lanes - 1) / lanes;
    done = vectors >= 8 ? Block<8>(to, t)
           : vectors >= 4 ? Block<4>(to, t)
           : vectors >= 2 ? Block<2>(to, t)
                          : Block<1>(to, t);
  }
}

// `load(from)`: every kStep-th element. The last vector may begin before the one in front of it ends.
template <int kStep, class Load>
HWY_INLINE int64_t PickBy(float* to, const float* from, int64_t n, const Load& load) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (n < lanes) return 0;
  for (int64_t i = 0; i + lanes <= n; i += lanes) hn::StoreU(load(d, from + i * kStep), d, to + i);
  hn::StoreU(load(d, from + (n - lanes) * kStep), d, to + n - lanes);
  return n;
}

HWY_ATTR void Pick(float* to, const float* from, int64_t step, int64_t n) {
  using D = hn::ScalableTag<float>;
  int64_t i = 0;
  if (step == 2) {
    i = PickBy<2>(to, from, n, [](D d, const float* at) HWY_ATTR {
      hn::Vec<D> a, b;
      hn::LoadInterleaved2(d, at, a, b);
      return a;
    });
  } else if (step == 4) {
    i = PickBy<4>(to, from, n, [](D d, const float* at) HWY_ATTR {
      hn::Vec<D> a, b, c, e;
      hn::LoadInterleaved4(d, at, a, b, c, e);
      return a;
    });
  }
  for (; i < n; ++i) to[i] = from[i * step];
}

constexpr PlaneConvLoops kLoops{&Taps, &Pick};
const PlaneConvLoops& Loops() { return kLoops; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(Loops);
const PlaneConvLoops& BestPlaneConvLoops() { return BELAY_SIMD_CALL(Loops)(); }
}  // namespace belay::ops
#endif
