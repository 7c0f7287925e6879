#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/index/place_loops.cc"
#include "ops/index/place_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Each index is read once, as somebody may change it meanwhile. Without a sign, so that nothing overflows:
// the highest bit of `beyond` tells.
struct Place {
  uint64_t place, beyond;
  Place(int64_t given, int64_t size)
      : place(static_cast<uint64_t>(given) + static_cast<uint64_t>(given < 0 ? size : 0)),
        beyond(place | (static_cast<uint64_t>(size) - 1 - place)) {}
};

bool PlacesOf(const int64_t* given, int64_t n, int64_t size, int64_t begin, int64_t along, int64_t across,
              int64_t* offsets) {
  constexpr int64_t kNarrow = int64_t{1} << 31;
  uint64_t beyond = 0;
  if (size <= kNarrow && across >= 0 && across < kNarrow) {  // products of 32 bits, which every processor has
    const auto step = static_cast<uint32_t>(across);
    for (int64_t k = 0; k < n; ++k) {
      const Place place(given[k], size);
      beyond |= place.beyond;
      offsets[k] = begin + static_cast<int64_t>(uint64_t{static_cast<uint32_t>(place.place)} * step);
    }
    for (int64_t k = 0, gone = 0; along != 0 && k < n; ++k, gone += along) offsets[k] += gone;
  } else {
    for (int64_t k = 0; k < n; ++k) {
      const Place place(given[k], size);
      beyond |= place.beyond;
      offsets[k] = begin + k * along + static_cast<int64_t>(place.place * static_cast<uint64_t>(across));
    }
  }
  return beyond >> 63 == 0;
}

// kDepth 0: any.
template <int kDepth>
bool PlacesOfDeepRows(const int64_t* given, int64_t rows, int64_t depth, const int64_t* sizes,
                      const int64_t* steps, int64_t* offsets) {
  const int64_t each = kDepth == 0 ? depth : kDepth;
  uint64_t beyond = 0;
  for (int64_t r = 0; r < rows; ++r, given += each) {
    uint64_t sum = 0;
    for (int64_t k = 0; k < each; ++k) {
      const Place place(given[k], sizes[k]);
      beyond |= place.beyond;
      sum += place.place * static_cast<uint64_t>(steps[k]);
    }
    offsets[r] = static_cast<int64_t>(sum);
  }
  return beyond >> 63 == 0;
}

bool PlacesOfRows(const int64_t* given, int64_t rows, int64_t depth, const int64_t* sizes,
                  const int64_t* steps, int64_t* offsets) {
  switch (depth) {
    case 1:
      return PlacesOf(given, rows, sizes[0], 0, 0, steps[0], offsets);
    case 2:
      return PlacesOfDeepRows<2>(given, rows, depth, sizes, steps, offsets);
    case 3:
      return PlacesOfDeepRows<3>(given, rows, depth, sizes, steps, offsets);
    case 4:
      return PlacesOfDeepRows<4>(given, rows, depth, sizes, steps, offsets);
    default:
      return PlacesOfDeepRows<0>(given, rows, depth, sizes, steps, offsets);
  }
}

// to[i] = one(to[i], from[i]) of whole vectors from an element on; returns where that ends.
template <class D, class One>
HWY_INLINE int64_t CombineFrom(D d, const float* from, int64_t begin, int64_t n, float* to, const One& one) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = begin;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(one(d, hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
  return i;
}

template <class One>
HWY_INLINE void CombineRow(const float* from, int64_t n, float* to, const One& one) {
  const int64_t rest = CombineFrom(hn::CappedTag<float, 16>(), from, 0, n, to, one);
  CombineFrom(hn::CappedTag<float, 1>(), from, rest, n, to, one);
}

void AddRow(const float* from, int64_t n, float factor, float* to) {
  CombineRow(from, n, to, [factor](auto d, auto a, auto b) HWY_ATTR {
    return hn::Add(a, hn::Mul(b, hn::Set(d, factor)));
  });
}
void MultiplyRow(const float* from, int64_t n, float, float* to) {
  CombineRow(from, n, to, [](auto, auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
}
void MaxRow(const float* from, int64_t n, float, float* to) {
  CombineRow(from, n, to, [](auto, auto a, auto b) HWY_ATTR {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::Ne(b, b)), b, a);
  });
}
void MinRow(const float* from, int64_t n, float, float* to) {
  CombineRow(from, n, to, [](auto, auto a, auto b) HWY_ATTR {
    return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::Ne(b, b)), b, a);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(PlacesOf);
BELAY_SIMD_EXPORT(PlacesOfRows);
BELAY_SIMD_EXPORT(AddRow);
BELAY_SIMD_EXPORT(MultiplyRow);
BELAY_SIMD_EXPORT(MaxRow);
BELAY_SIMD_EXPORT(MinRow);
PlaceLoop BestPlaceLoop() { return BELAY_SIMD_CALL(PlacesOf); }
RowPlaceLoop BestRowPlaceLoop() { return BELAY_SIMD_CALL(PlacesOfRows); }
RowLoop BestAddRowLoop() { return BELAY_SIMD_CALL(AddRow); }
RowLoop BestMultiplyRowLoop() { return BELAY_SIMD_CALL(MultiplyRow); }
RowLoop BestMaxRowLoop() { return BELAY_SIMD_CALL(MaxRow); }
RowLoop BestMinRowLoop() { return BELAY_SIMD_CALL(MinRow); }
}  // namespace belay::ops
#endif
