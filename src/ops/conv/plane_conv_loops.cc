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

// What several products share is read once: GCC would read it from memory for each of them.
template <class V>
HWY_INLINE V InRegister(V v) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// kFilters sums of kVectors vectors: what is read is used for all filters.
template <int kFilters, int kVectors>
HWY_INLINE void FiltersBlock(float* to, int64_t apart, const PlaneTaps& t, const float* added) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kFilters][kVectors];
  HWY_UNROLL(4)
  for (int f = 0; f < kFilters; ++f) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[f][v] = hn::Set(d, added[f]);
  }
  const float* weights = t.weights;
  for (int64_t k = 0; k < t.taps; ++k, weights += kFilters) {
    const float* from = t.from + t.offsets[k];
    hn::Vec<decltype(d)> seen[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) seen[v] = InRegister(hn::LoadU(d, from + v * lanes));
    HWY_UNROLL(4)
    for (int f = 0; f < kFilters; ++f) {
      const auto weight = hn::Set(d, weights[f]);
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sums[f][v] = hn::MulAdd(weight, seen[v], sums[f][v]);
    }
  }
  const auto low = hn::Set(d, t.low), high = hn::Set(d, t.high);
  HWY_UNROLL(4)
  for (int f = 0; f < kFilters; ++f) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(Clipped(sums[f][v], low, high), d, to + f * apart + v * lanes);
  }
}

// The last vectors may begin before those in front of them end; of one, behind the n-th.
template <int kFilters, int kVectors>
HWY_ATTR void FiltersBy(float* to, int64_t apart, const PlaneTaps& given, const float* added, int64_t n) {
  const int64_t step = kVectors * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  PlaneTaps t = given;
  for (int64_t i = 0; i < n; i += step) {
    const int64_t at = kVectors == 1 ? i : std::min(i, n - step);
    t.from = given.from + at;
    FiltersBlock<kFilters, kVectors>(to + at, apart, t, added);
  }
}

// Three vectors share the weights best, if not much is summed twice.
template <int kFilters>
HWY_INLINE void FiltersOf(float* to, int64_t apart, const PlaneTaps& t, const float* added, int64_t n) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  const auto filled = [&](int64_t vectors) {
    return (n + vectors * lanes - 1) / (vectors * lanes) * vectors;
  };
  if (n >= 3 * lanes && filled(3) * 12 <= filled(2) * 13) {
    FiltersBy<kFilters, 3>(to, apart, t, added, n);
  } else if (n >= 2 * lanes) {
    FiltersBy<kFilters, 2>(to, apart, t, added, n);
  } else {
    FiltersBy<kFilters, 1>(to, apart, t, added, n);
  }
}

void Filters(float* to, int64_t apart, const PlaneTaps& taps, int64_t width, const float* added, int64_t n) {
  width == 4 ? FiltersOf<4>(to, apart, taps, added, n) : FiltersOf<2>(to, apart, taps, added, n);
}

// Sums of four rows by two vectors.
template <class D>
struct FourRows {
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
      const V left = InRegister(hn::LoadU(d, from)), right = InRegister(hn::LoadU(d, from + lanes));
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

template <class D>
HWY_INLINE void FourRowsAt(D d, float* to, int64_t to_pitch, const PlaneTaps& t, const PlaneColumn* columns,
                           int64_t count, int64_t pitch, int64_t i) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  FourRows<D> rows(hn::Set(d, t.bias));
  for (int64_t c = 0; c < count; ++c) {
    const int64_t first = columns[c].first;
    rows.AddColumn(t.from + t.offsets[first] + i, t.weights + first, columns[c].count, pitch);
  }
  const auto low = hn::Set(d, t.low), high = hn::Set(d, t.high);
  for (int r = 0; r < 4; ++r, to += to_pitch) {
    hn::StoreU(Clipped(rows.sums[r][0], low, high), d, to + i);
    hn::StoreU(Clipped(rows.sums[r][1], low, high), d, to + i + lanes);
  }
}

// The last vectors may begin before those in front of them end.
template <class D>
HWY_ATTR void FourRowsBy(D d, float* to, int64_t to_pitch, const PlaneTaps& t, const PlaneColumn* columns,
                         int64_t count, int64_t pitch, int64_t n) {
  const int64_t step = 2 * static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < n; i += step)
    FourRowsAt(d, to, to_pitch, t, columns, count, pitch, std::min(i, n - step));
}

// Smaller vectors where rows are shorter than two, or where the last ones would do most of the row again.
HWY_ATTR bool FourRowsOf(float* to, int64_t to_pitch, const PlaneTaps& t, const PlaneColumn* columns,
                         int64_t count, int64_t pitch, int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 8> half;
  const hn::CappedTag<float, 4> quarter;
  const auto filled = [n](auto tag) {
    const int64_t step = 2 * static_cast<int64_t>(hn::Lanes(tag));
    return (n + step - 1) / step * step;
  };
  const auto fit = [n](auto tag) { return n >= 2 * static_cast<int64_t>(hn::Lanes(tag)); };
  if (fit(d) && filled(d) * 4 <= filled(half) * 5) {
    FourRowsBy(d, to, to_pitch, t, columns, count, pitch, n);
  } else if (fit(half)) {
    FourRowsBy(half, to, to_pitch, t, columns, count, pitch, n);
  } else if (fit(quarter)) {
    FourRowsBy(quarter, to, to_pitch, t, columns, count, pitch, n);
  } else {
    return false;
  }
  return true;
}

// The i-th places of all blocks; the last vector may begin before the one in front of it ends.
template <int kStep, class D>
HWY_INLINE void DealRow(D d, float* const* to, const float* from, int64_t places) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < places; i += lanes) {
    const int64_t at = std::min(i, places - lanes);
    hn::Vec<D> v[4];
    if constexpr (kStep == 1) v[0] = hn::LoadU(d, from + at);
    if constexpr (kStep == 2) hn::LoadInterleaved2(d, from + at * kStep, v[0], v[1]);
    if constexpr (kStep == 3) hn::LoadInterleaved3(d, from + at * kStep, v[0], v[1], v[2]);
    if constexpr (kStep == 4) hn::LoadInterleaved4(d, from + at * kStep, v[0], v[1], v[2], v[3]);
    for (int r = 0; r < kStep; ++r) hn::StoreU(v[r], d, to[r] + at);
  }
}

// From how many elements of a row on they are left.
template <int kStep, class D>
HWY_ATTR int64_t DealBy(D d, const PlaneRows& rows) {
  const int64_t places = rows.n / kStep;
  if (places < static_cast<int64_t>(hn::Lanes(d))) return 0;
  float* to[kStep];
  for (int r = 0; r < kStep; ++r)
    to[r] = rows.to + (rows.first + r) % kStep * rows.apart + (rows.first + r) / kStep;
  const float* from = rows.from;
  for (int64_t k = 0; k < rows.count; ++k, from += rows.from_pitch) {
    DealRow<kStep>(d, to, from, places);
    for (int r = 0; r < kStep; ++r) to[r] += rows.to_pitch;
  }
  return places * kStep;
}

template <int kStep>
HWY_ATTR int64_t DealInVectors(const PlaneRows& rows) {
  int64_t done = DealBy<kStep>(hn::ScalableTag<float>(), rows);
  if (done == 0) done = DealBy<kStep>(hn::CappedTag<float, 8>(), rows);
  if (done == 0) done = DealBy<kStep>(hn::CappedTag<float, 4>(), rows);
  return done;
}

void Deal(const PlaneRows& rows) {
  int64_t begin = 0;
  if (rows.step == 1) begin = DealInVectors<1>(rows);
  if (rows.step == 2) begin = DealInVectors<2>(rows);
  if (rows.step == 3) begin = DealInVectors<3>(rows);
  if (rows.step == 4) begin = DealInVectors<4>(rows);
  for (int64_t k = 0; k < rows.count && begin < rows.n; ++k) {
    const float* from = rows.from + k * rows.from_pitch;
    float* to = rows.to + k * rows.to_pitch;
    for (int64_t i = begin; i < rows.n; ++i)
      to[(rows.first + i) % rows.step * rows.apart + (rows.first + i) / rows.step] = from[i];
  }
}

// The i-th places of all blocks, from how many elements of a row on they are left.
template <int kStep, class D>
HWY_ATTR int64_t WeaveBy(D d, const PlaneBlocks& blocks) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t places = blocks.n / kStep;
  if (places < lanes) return 0;
  for (int64_t k = 0; k < blocks.count; ++k) {
    const float* from = blocks.from + k * blocks.from_pitch;
    float* to = blocks.to + k * blocks.to_pitch;
    for (int64_t i = 0; i < places; i += lanes) {
      const int64_t at = std::min(i, places - lanes);
      hn::Vec<D> v[kStep];
      for (int r = 0; r < kStep; ++r) v[r] = hn::LoadU(d, from + r * blocks.apart + at);
      if constexpr (kStep == 1) hn::StoreU(v[0], d, to + at);
      if constexpr (kStep == 2) hn::StoreInterleaved2(v[0], v[1], d, to + at * kStep);
      if constexpr (kStep == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, to + at * kStep);
      if constexpr (kStep == 4) hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, to + at * kStep);
    }
  }
  return places * kStep;
}

template <int kStep>
HWY_ATTR int64_t WeaveInVectors(const PlaneBlocks& blocks) {
  int64_t done = WeaveBy<kStep>(hn::ScalableTag<float>(), blocks);
  if (done == 0) done = WeaveBy<kStep>(hn::CappedTag<float, 8>(), blocks);
  if (done == 0) done = WeaveBy<kStep>(hn::CappedTag<float, 4>(), blocks);
  return done;
}

void Weave(const PlaneBlocks& blocks) {
  int64_t begin = 0;
  if (blocks.step == 1) begin = WeaveInVectors<1>(blocks);
  if (blocks.step == 2) begin = WeaveInVectors<2>(blocks);
  if (blocks.step == 3) begin = WeaveInVectors<3>(blocks);
  if (blocks.step == 4) begin = WeaveInVectors<4>(blocks);
  for (int64_t k = 0; k < blocks.count && begin < blocks.n; ++k) {
    const float* from = blocks.from + k * blocks.from_pitch;
    float* to = blocks.to + k * blocks.to_pitch;
    for (int64_t i = begin; i < blocks.n; ++i) to[i] = from[i % blocks.step * blocks.apart + i / blocks.step];
  }
}

void Finish(float* row, int64_t n, float added, float low, float high) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const auto finish = [&](auto tag, float* at) {
    const auto sum = hn::Add(hn::LoadU(tag, at), hn::Set(tag, added));
    hn::StoreU(Clipped(sum, hn::Set(tag, low), hn::Set(tag, high)), tag, at);
  };
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) finish(d, row + i);
  for (; i < n; ++i) finish(one, row + i);
}

constexpr PlaneConvLoops kLoops{&Taps, &Filters, &FourRowsOf, &Deal, &Weave, &Finish};
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
