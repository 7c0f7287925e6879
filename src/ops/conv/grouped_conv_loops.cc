#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/conv/grouped_conv_loops.cc"
#include "ops/conv/grouped_conv_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/some_lanes-inl.h"

#ifndef BELAY_OPS_GROUPED_CONV_LOOPS_ONCE
#define BELAY_OPS_GROUPED_CONV_LOOPS_ONCE
#include <algorithm>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

HWY_INLINE int64_t GroupedLanes() { return static_cast<int64_t>(hn::Lanes(D())); }

// The first `count` elements; the others are 0.
HWY_INLINE V LoadOfGroup(const float* from, int64_t count) {
  return LoadSome(D(), from, std::max<int64_t>(count, 0), 0);
}

HWY_INLINE void StoreOfGroup(V v, float* to, int64_t count) {
  if (count > 0) StoreSome(v, D(), to, count);
}

// The sums of kPixels pixels by kVectors vectors.
template <int kPixels, int kVectors>
struct GroupedSums {
  V at[kPixels][kVectors];

  HWY_INLINE explicit GroupedSums(const GroupedRow& r) {
    for (int v = 0; v < kVectors; ++v) {
      const V start = r.bias == nullptr
                          ? hn::Zero(D())
                          : LoadOfGroup(r.bias + v * GroupedLanes(), r.channels - v * GroupedLanes());
      for (int p = 0; p < kPixels; ++p) at[p][v] = start;
    }
  }

  template <bool kSpread>
  HWY_INLINE void Add(const GroupedRow& r, const float* from) {
    const D d;
    const int64_t lanes = GroupedLanes(), step = r.from_step;
    const float* weights = r.weights;
    for (int64_t t = 0; t < r.tap_count; ++t) {
      const float* x = from + r.taps[t];
      for (int64_t i = 0; i < r.depth; ++i, x += kSpread ? lanes : 1, weights += kVectors * lanes) {
        V w[kVectors];
        HWY_UNROLL(3)
        for (int v = 0; v < kVectors; ++v) w[v] = hn::LoadU(d, weights + v * lanes);
        HWY_UNROLL(8)
        for (int p = 0; p < kPixels; ++p) {
          const V pixel = kSpread ? hn::LoadU(d, x + p * step) : hn::Set(d, x[p * step]);
          HWY_UNROLL(3)
          for (int v = 0; v < kVectors; ++v) at[p][v] = hn::MulAdd(w[v], pixel, at[p][v]);
        }
      }
    }
  }

  HWY_INLINE void Store(const GroupedRow& r, float* to, int64_t pixels) const {
    for (int p = 0; p < kPixels && p < pixels; ++p, to += r.to_step) {
      for (int v = 0; v < kVectors; ++v) {
        const int64_t first = v * GroupedLanes(), left = r.channels - first;
        V sum = at[p][v];
        if (r.add) sum = hn::Add(sum, LoadOfGroup(to + first, left));
        StoreOfGroup(sum, to + first, left);
      }
    }
  }
};

template <int kPixels, int kVectors, bool kSpread>
HWY_INLINE void GroupedBlock(const GroupedRow& r, int64_t first) {
  GroupedSums<kPixels, kVectors> sums(r);
  sums.template Add<kSpread>(r, r.from + first * r.from_step);
  sums.Store(r, r.to + first * r.to_step, r.pixels - first);
}

// As many pixels together as registers hold sums; the last ones by four or two, so that none is read beyond
// GroupedRow::kTogether.
template <int kPixels, int kVectors, bool kSpread>
HWY_INLINE void GroupedBlocks(const GroupedRow& r) {
  int64_t i = 0;
  for (; r.pixels - i > 4; i += kPixels) GroupedBlock<kPixels, kVectors, kSpread>(r, i);
  for (; r.pixels - i > 2; i += 4) GroupedBlock<4, kVectors, kSpread>(r, i);
  if (i < r.pixels) GroupedBlock<2, kVectors, kSpread>(r, i);
}

HWY_ATTR void RowOfGroup(const GroupedRow& r, int64_t vectors) {
  switch (vectors) {
    case 1:
      return GroupedBlocks<8, 1, false>(r);
    case 2:
      return GroupedBlocks<6, 2, false>(r);
    default:
      return GroupedBlocks<4, 3, false>(r);
  }
}

HWY_ATTR void RowOfGroups(const GroupedRow& r) { GroupedBlocks<8, 1, true>(r); }

HWY_ATTR void GatherGroup(const float* from, int64_t step, int64_t depth, int64_t pixels, float* to) {
  if (step == depth) {
    std::copy_n(from, pixels * depth, to);
    return;
  }
  const D d;
  const int64_t lanes = GroupedLanes(), whole = depth / lanes * lanes;
  for (int64_t p = 0; p < pixels; ++p, from += step, to += depth) {
    for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    for (int64_t i = whole; i < depth; ++i) to[i] = from[i];
  }
}

#if HWY_TARGET != HWY_SCALAR
// Where the pixel is one vector and its groups do not cross blocks of four lanes, `spread(v, i)` gives
// channel i of each.
template <int64_t kDepth, class Spread>
HWY_INLINE void SpreadGroupVectors(const float* from, int64_t step, int64_t groups, int64_t pixels, float* to,
                                   const Spread& spread) {
  const D d;
  for (int64_t p = 0; p < pixels; ++p, from += step) {
    const V pixel = LoadOfGroup(from, groups * kDepth);
    for (int64_t i = 0; i < kDepth; ++i, to += GroupedLanes()) hn::StoreU(spread(pixel, i), d, to);
  }
}

// Groups of eight, each of which has half a vector.
HWY_INLINE void SpreadHalves(const float* from, int64_t step, int64_t groups, int64_t pixels, float* to) {
  const D d;
  const hn::Half<D> half;
  for (int64_t p = 0; p < pixels; ++p, from += step) {
    for (int64_t i = 0; i < 8; ++i, to += GroupedLanes()) {
      const auto second = groups > 1 ? hn::Set(half, from[8 + i]) : hn::Zero(half);
      hn::StoreU(hn::Combine(d, second, hn::Set(half, from[i])), d, to);
    }
  }
}

// False: not of so many channels.
HWY_INLINE bool SpreadVectors(const float* from, int64_t step, const SpreadOfGroups& of, int64_t pixels,
                              float* to) {
  if (of.depth == 1) {
    SpreadGroupVectors<1>(from, step, of.groups, pixels, to, [](V v, int64_t) HWY_ATTR { return v; });
  } else if (of.depth == 2) {
    SpreadGroupVectors<2>(from, step, of.groups, pixels, to,
                          [](V v, int64_t i) HWY_ATTR { return i == 0 ? hn::DupEven(v) : hn::DupOdd(v); });
  } else if (of.depth == 4) {
    SpreadGroupVectors<4>(from, step, of.groups, pixels, to, [](V v, int64_t i) HWY_ATTR {
      return i == 0   ? hn::Broadcast<0>(v)
             : i == 1 ? hn::Broadcast<1>(v)
             : i == 2 ? hn::Broadcast<2>(v)
                      : hn::Broadcast<3>(v);
    });
  } else if (of.depth == 8 && GroupedLanes() == 16) {
    SpreadHalves(from, step, of.groups, pixels, to);
  } else {
    return false;
  }
  return true;
}

// Of any number of channels: the last group's is in all lanes, then the others' in front of it.
HWY_INLINE void SpreadAny(const float* from, int64_t step, const SpreadOfGroups& of, int64_t pixels,
                          float* to) {
  const D d;
  const int64_t lanes = GroupedLanes();
  for (int64_t p = 0; p < pixels; ++p, from += step) {
    for (int64_t i = 0; i < of.depth; ++i, to += lanes) {
      V all = hn::Set(d, from[(of.groups - 1) * of.depth + i]);
      for (int64_t g = of.groups - 2; g >= 0; --g) {
        const auto front = hn::FirstN(d, static_cast<size_t>((g + 1) * of.width));
        all = hn::IfThenElse(front, hn::Set(d, from[g * of.depth + i]), all);
      }
      hn::StoreU(all, d, to);
    }
  }
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// Where the pixels of the groups are at most two vectors: one look-up in them for each channel.
HWY_INLINE void SpreadPairs(const float* from, int64_t step, const SpreadOfGroups& of, int64_t pixels,
                            float* to) {
  const D d;
  const hn::RebindToSigned<D> whole;
  const int64_t lanes = GroupedLanes(), floats = of.groups * of.depth;
  HWY_ALIGN int32_t places[HWY_MAX_BYTES / 4] = {};
  for (int64_t l = 0; l < of.groups * of.width; ++l)
    places[l] = static_cast<int32_t>(l / of.width * of.depth);
  const auto last = hn::Set(whole, static_cast<int32_t>(lanes - 1));
  for (int64_t p = 0; p < pixels; ++p, from += step) {
    const V low = LoadOfGroup(from, floats), high = LoadOfGroup(from + lanes, floats - lanes);
    auto at = hn::Load(whole, places);
    for (int64_t i = 0; i < of.depth; ++i, to += lanes, at = hn::Add(at, hn::Set(whole, 1))) {
      const auto lane = hn::IndicesFromVec(d, hn::And(at, last));
      const auto second = hn::RebindMask(d, hn::Gt(at, last));
      hn::StoreU(hn::IfThenElse(second, hn::TableLookupLanes(high, lane), hn::TableLookupLanes(low, lane)), d,
                 to);
    }
  }
}
#else  // look-ups are slow there
HWY_INLINE void SpreadPairs(const float* from, int64_t step, const SpreadOfGroups& of, int64_t pixels,
                            float* to) {
  SpreadAny(from, step, of, pixels, to);
}
#endif
#else
HWY_INLINE bool SpreadVectors(const float*, int64_t, const SpreadOfGroups&, int64_t, float*) { return false; }

HWY_INLINE void SpreadPairs(const float* from, int64_t step, const SpreadOfGroups& of, int64_t pixels,
                            float* to) {
  for (int64_t p = 0; p < pixels; ++p, from += step) to = std::copy_n(from, of.depth, to);
}

HWY_INLINE void SpreadAny(const float* from, int64_t step, const SpreadOfGroups& of, int64_t pixels,
                          float* to) {
  SpreadPairs(from, step, of, pixels, to);
}
#endif

HWY_ATTR void SpreadGroups(const float* from, int64_t step, const SpreadOfGroups& of, int64_t pixels,
                           float* to) {
  if (of.depth == of.width && GroupedLanes() >= 4 && SpreadVectors(from, step, of, pixels, to)) return;
  if (of.groups * of.depth <= 2 * GroupedLanes()) {
    SpreadPairs(from, step, of, pixels, to);
  } else {
    SpreadAny(from, step, of, pixels, to);
  }
}

const GroupedConvLoops& GroupedLoops() {
  static const GroupedConvLoops loops{GroupedLanes(), &RowOfGroup, &RowOfGroups, &GatherGroup, &SpreadGroups};
  return loops;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(GroupedLoops);
const GroupedConvLoops& BestGroupedConvLoops() { return BELAY_SIMD_CALL(GroupedLoops)(); }
}  // namespace belay::ops
#endif
