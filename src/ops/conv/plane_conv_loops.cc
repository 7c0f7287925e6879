#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/conv/plane_conv_loops.cc"
#include "ops/conv/plane_conv_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/some_lanes-inl.h"

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

// Where the vectors of some rows are, one after the other: the last one of a row may begin before the one in
// front of it ends.
class VectorsOfRows {
 public:
  VectorsOfRows(const PlaneLines& lines, int64_t lanes)
      : lines_(lines), lanes_(lanes), last_(std::max<int64_t>(lines.n - lanes, 0)) {}

  int64_t count() const { return (lines_.n + lanes_ - 1) / lanes_ * lines_.rows; }
  // Of each vector; only the last one of a row that is shorter than it has fewer.
  int64_t elements() const { return std::min(lines_.n, lanes_); }
  int64_t from() const { return from_ + std::min(column_, last_); }
  int64_t to() const { return to_ + std::min(column_, last_); }

  void Next() {
    column_ += lanes_;
    if (column_ < lines_.n) return;
    column_ = 0, from_ += lines_.from_pitch, to_ += lines_.to_pitch;
  }

 private:
  const PlaneLines& lines_;
  const int64_t lanes_, last_;
  int64_t column_ = 0, from_ = 0, to_ = 0;
};

// kFilters sums of kVectors vectors: what is read is used for all filters.
template <int kFilters, int kVectors>
HWY_INLINE void FiltersBlock(float* to, int64_t apart, const PlaneTaps& t, const float* added,
                             VectorsOfRows& vectors) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[kFilters][kVectors];
  const float* from[kVectors];
  float* sums_at[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v, vectors.Next())
    from[v] = t.from + vectors.from(), sums_at[v] = to + vectors.to();
  HWY_UNROLL(4)
  for (int f = 0; f < kFilters; ++f) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[f][v] = hn::Set(d, added[f]);
  }
  const float* weights = t.weights;
  for (int64_t k = 0; k < t.taps; ++k, weights += kFilters) {
    const int64_t offset = t.offsets[k];
    hn::Vec<decltype(d)> seen[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) seen[v] = InRegister(hn::LoadU(d, from[v] + offset));
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
      StoreSome(Clipped(sums[f][v], low, high), d, sums_at[v] + f * apart, vectors.elements());
  }
}

// Three vectors share the weights best.
template <int kFilters>
HWY_ATTR void FiltersOf(float* to, int64_t apart, const PlaneTaps& t, const float* added,
                        const PlaneLines& lines) {
  VectorsOfRows vectors(lines, static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>())));
  int64_t left = vectors.count();
  for (; left > 4 || left == 3; left -= 3) FiltersBlock<kFilters, 3>(to, apart, t, added, vectors);
  for (; left > 1; left -= 2) FiltersBlock<kFilters, 2>(to, apart, t, added, vectors);
  if (left > 0) FiltersBlock<kFilters, 1>(to, apart, t, added, vectors);
}

void Filters(float* to, int64_t apart, const PlaneTaps& taps, int64_t count, const float* added,
             const PlaneLines& lines) {
  if (count == 2) return FiltersOf<2>(to, apart, taps, added, lines);
  count == 3 ? FiltersOf<3>(to, apart, taps, added, lines) : FiltersOf<4>(to, apart, taps, added, lines);
}

// Sums of four rows by some vectors, of which the second one is `second` elements behind the first.
template <int kVectors, class D>
struct FourRows {
  using V = hn::Vec<D>;
  V sums[4][kVectors];
  const int64_t second;

  HWY_INLINE FourRows(V start, int64_t between) : second(between) {
    for (auto& row : sums) {
      for (V& sum : row) sum = start;
    }
  }

  // Each row of the input is a tap of all the rows of the result that it is near enough to.
  template <int kTaps>
  HWY_INLINE void Add(const float* from, const float* weights, int64_t pitch) {
    const D d;
    HWY_UNROLL(8)
    for (int j = 0; j < kTaps + 3; ++j, from += pitch) {
      V seen[kVectors];
      for (int v = 0; v < kVectors; ++v) seen[v] = InRegister(hn::LoadU(d, from + v * second));
      HWY_UNROLL(4)
      for (int r = 0; r < 4; ++r) {
        if (j < r || j - r >= kTaps) continue;
        const V weight = hn::Set(d, weights[j - r]);
        for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(weight, seen[v], sums[r][v]);
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
      case 4:
        return Add<4>(from, weights, pitch);
      default:
        return Add<PlaneColumn::kMost>(from, weights, pitch);
    }
  }
};

// From the i-th elements of the rows on.
template <int kVectors, class D>
HWY_INLINE void FourRowsAt(D d, float* to, const PlaneLines& lines, const PlaneTaps& t,
                           const PlaneColumn* columns, int64_t count, int64_t i, int64_t second) {
  FourRows<kVectors, D> rows(hn::Set(d, t.bias), second);
  for (int64_t c = 0; c < count; ++c) {
    const int64_t first = columns[c].first;
    rows.AddColumn(t.from + t.offsets[first] + i, t.weights + first, columns[c].count, lines.from_pitch);
  }
  const auto low = hn::Set(d, t.low), high = hn::Set(d, t.high);
  to += i;
  for (int r = 0; r < 4; ++r, to += lines.to_pitch) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(Clipped(rows.sums[r][v], low, high), d, to + v * second);
  }
}

// The last vector may begin before the one in front of it ends.
template <class D>
HWY_ATTR void FourRowsBy(D d, float* to, const PlaneLines& lines, const PlaneTaps& t,
                         const PlaneColumn* columns, int64_t count) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t last = lines.n - lanes;
  int64_t i = 0;
  for (; i < last; i += 2 * lanes)
    FourRowsAt<2>(d, to, lines, t, columns, count, i, std::min(lanes, last - i));
  if (i < lines.n) FourRowsAt<1>(d, to, lines, t, columns, count, last, 0);
}

// Smaller vectors where rows are shorter than one.
bool FourRowsOf(float* to, const PlaneLines& lines, const PlaneTaps& t, const PlaneColumn* columns,
                int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 8> half;
  const hn::CappedTag<float, 4> quarter;
  const auto fit = [&lines](auto tag) { return lines.n >= static_cast<int64_t>(hn::Lanes(tag)); };
  if (fit(d)) {
    FourRowsBy(d, to, lines, t, columns, count);
  } else if (fit(half)) {
    FourRowsBy(half, to, lines, t, columns, count);
  } else if (fit(quarter)) {
    FourRowsBy(quarter, to, lines, t, columns, count);
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
  for (int64_t i = begin; i < std::min(begin + rows.step, rows.n); ++i) {
    const int64_t first = rows.first + i;
    const float* from = rows.from;
    float* to = rows.to + first % rows.step * rows.apart + first / rows.step;
    for (int64_t k = 0; k < rows.count; ++k, from += rows.from_pitch, to += rows.to_pitch) {
      for (int64_t at = i, place = 0; at < rows.n; at += rows.step, ++place) to[place] = from[at];
    }
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
  for (int64_t i = begin; i < std::min(begin + blocks.step, blocks.n); ++i) {
    const float* from = blocks.from + i % blocks.step * blocks.apart + i / blocks.step;
    float* to = blocks.to;
    for (int64_t k = 0; k < blocks.count; ++k, from += blocks.from_pitch, to += blocks.to_pitch) {
      for (int64_t at = i, place = 0; at < blocks.n; at += blocks.step, ++place) to[at] = from[place];
    }
  }
}

// Every other element of `from` for whole vectors, behind which there is one more; returns where that ends.
template <class D>
HWY_INLINE int64_t PickOthers(D d, float* to, const float* from, int64_t i, int64_t n) {
#if HWY_TARGET != HWY_SCALAR
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes < n; i += lanes) {
    const auto low = hn::LoadU(d, from + 2 * i), high = hn::LoadU(d, from + 2 * i + lanes);
    hn::StoreU(hn::ConcatEven(d, high, low), d, to + i);
  }
#endif
  return i;
}

HWY_ATTR void Pick(float* to, const float* from, int64_t step, const PlaneLines& rows) {
  for (int64_t r = 0; r < rows.rows; ++r, to += rows.to_pitch, from += rows.from_pitch) {
    if (step == 1) {
      std::copy_n(from, rows.n, to);
      continue;
    }
    int64_t i = 0;
    if (step == 2) {
      i = PickOthers(hn::ScalableTag<float>(), to, from, i, rows.n);
      i = PickOthers(hn::CappedTag<float, 4>(), to, from, i, rows.n);
    }
    for (; i < rows.n; ++i) to[i] = from[i * step];
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

const PlaneConvLoops& Loops() {
  static const PlaneConvLoops loops{static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>())),
                                    &Taps,
                                    &Filters,
                                    &FourRowsOf,
                                    &Deal,
                                    &Weave,
                                    &Pick,
                                    &Finish};
  return loops;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(Loops);
const PlaneConvLoops& BestPlaneConvLoops() { return BELAY_SIMD_CALL(Loops)(); }
}  // namespace belay::ops
#endif
