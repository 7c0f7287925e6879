#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/conv/plane_conv_loops.cc"
#include "ops/conv/plane_conv_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_OPS_PLANE_CONV_LOOPS_ONCE
#define BELAY_OPS_PLANE_CONV_LOOPS_ONCE
#include <algorithm>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class V>
HWY_INLINE V Clipped(V sum, V low, V high) {
  const V above = hn::IfThenElse(hn::Lt(sum, low), low, sum);
  return hn::IfThenElse(hn::Gt(above, high), high, above);
}

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
  for (int v = 0; v < kVectors; ++v) hn::StoreU(Clipped(sums[v], low, high), d, to + v * lanes);
  return kVectors * lanes;
}

HWY_ATTR void Taps(float* to, const PlaneTaps& given, int64_t n) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  PlaneTaps t = given;
  for (int64_t i = 0, done; i < n; i += done, to += done, t.from += done) {
    const int64_t vectors = (n - i + lanes - 1) / lanes;
    done = vectors >= 8   ? Block<8>(to, t)
           : vectors >= 4 ? Block<4>(to, t)
           : vectors >= 2 ? Block<2>(to, t)
                          : Block<1>(to, t);
  }
}

// Sums of four rows by two vectors.
struct FourRows {
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  V sums[4][2];

  HWY_INLINE explicit FourRows(V start) {
    for (auto& row : sums) row[0] = row[1] = start;
  }

  // Each row of the input is a tap of all the rows of the result that it is near enough to.
  template <int kTaps>
  HWY_INLINE void Add(const float* from, const float* weights, int64_t pitch) {
    const D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    HWY_UNROLL(8)
    for (int j = 0; j < kTaps + 3; ++j, from += pitch) {
      const V left = hn::LoadU(d, from), right = hn::LoadU(d, from + lanes);
      HWY_UNROLL(4)
      for (int r = 0; r < 4; ++r) {
        if (j < r || j - r >= kTaps) continue;
        const V weight = hn::Set(d, weights[j - r]);
        sums[r][0] = hn::MulAdd(weight, left, sums[r][0]);
        sums[r][1] = hn::MulAdd(weight, right, sums[r][1]);
      }
    }
  }

  HWY_INLINE void AddColumn(const float* from, const float* weights, int64_t taps, int64_t pitch) {
    switch (taps) {
      case 1:
        return Add<1>(from, weights, pitch);
      case 2:
        return Add<2>(from, weights, pitch);
      case 3:
        return Add<3>(from, weights, pitch);
      default:
        return Add<PlaneColumn::kMost>(from, weights, pitch);
    }
  }
};

HWY_INLINE void FourRowsAt(float* to, const PlaneTaps& t, const PlaneColumn* columns, int64_t count,
                           int64_t pitch, int64_t i) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  FourRows rows(hn::Set(d, t.bias));
  for (int64_t c = 0; c < count; ++c) {
    const int64_t first = columns[c].first;
    rows.AddColumn(t.from + t.offsets[first] + i, t.weights + first, columns[c].count, pitch);
  }
  const auto low = hn::Set(d, t.low), high = hn::Set(d, t.high);
  for (int r = 0; r < 4; ++r, to += pitch) {
    hn::StoreU(Clipped(rows.sums[r][0], low, high), d, to + i);
    hn::StoreU(Clipped(rows.sums[r][1], low, high), d, to + i + lanes);
  }
}

// The last vectors may begin before those in front of them end.
HWY_ATTR bool FourRowsOf(float* to, const PlaneTaps& t, const PlaneColumn* columns, int64_t count,
                         int64_t pitch, int64_t n) {
  const int64_t step = 2 * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  if (n < step) return false;
  for (int64_t i = 0; i < n; i += step) FourRowsAt(to, t, columns, count, pitch, std::min(i, n - step));
  return true;
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

constexpr PlaneConvLoops kLoops{&Taps, &FourRowsOf, &Pick};
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
