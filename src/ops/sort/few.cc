#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sort/few.cc"
#include "ops/sort/few.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_OPS_SORT_FEW_ONCE
#define BELAY_OPS_SORT_FEW_ONCE
#include <bit>
#include <cstring>
#include <type_traits>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The first ones so far, in order. Nearly all elements are compared with the last of them and left.
template <class T, bool kDescending>
struct Leaders {
  Leaders(int64_t keep, int64_t* places) : keep(keep), places(places) {}

  int64_t keep, *places;
  int64_t held = 0;
  T values[kMostFew];  // as many as are held

  static bool Before(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return (a < b) | ((b != b) & (a == a));
    return a < b;
  }
  static bool Precedes(T a, T b) { return kDescending ? Before(b, a) : Before(a, b); }

  bool full() const { return held == keep; }
  T last() const { return values[keep - 1]; }
  // A later one that is equal comes behind.
  void Offer(T value, int64_t place) {
    if (full() && !Precedes(value, last())) return;
    int64_t at = full() ? keep - 1 : held++;
    for (; at > 0 && Precedes(value, values[at - 1]); --at) {
      values[at] = values[at - 1], places[at] = places[at - 1];
    }
    values[at] = value, places[at] = place;
  }
};

// Those that precede a number; a NaN precedes none, and is preceded as `Leaders` has it.
template <bool kDescending, class T, class V>
HWY_INLINE auto Preceding(V x, V last) {
  if constexpr (!kDescending) {
    return hn::Lt(x, last);
  } else if constexpr (std::is_floating_point_v<T>) {
    return hn::Not(hn::Le(x, last));
  } else {
    return hn::Gt(x, last);
  }
}

template <class T, bool kDescending>
void FewInOrder(const T* row, int64_t n, int64_t keep, int64_t* places) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Leaders<T, kDescending> leaders(keep, places);
  for (int64_t k = 0; k < keep; ++k) leaders.Offer(row[k], k);
  for (int64_t k = keep, step; k < n; k += step) {
    step = k + lanes <= n && leaders.last() == leaders.last() ? lanes : 1;
    if (step == 1) {
      leaders.Offer(row[k], k);
      continue;
    }
    const auto better = Preceding<kDescending, T>(hn::LoadU(d, row + k), hn::Set(d, leaders.last()));
    if (HWY_LIKELY(hn::AllFalse(d, better))) continue;
    uint8_t bytes[8] = {};  // what a mask writes at least
    hn::StoreMaskBits(d, better, bytes);
    uint64_t bits;
    std::memcpy(&bits, bytes, sizeof(bits));
    for (; bits != 0; bits &= bits - 1) {
      const int64_t at = k + std::countr_zero(bits);
      leaders.Offer(row[at], at);
    }
  }
}

template <class T>
void FewOf(const T* row, int64_t n, int64_t keep, bool descending, int64_t* places) {
  descending ? FewInOrder<T, true>(row, n, keep, places) : FewInOrder<T, false>(row, n, keep, places);
}

void FewOfF32(const float* row, int64_t n, int64_t keep, bool descending, int64_t* places) {
  FewOf(row, n, keep, descending, places);
}
void FewOfF64(const double* row, int64_t n, int64_t keep, bool descending, int64_t* places) {
  FewOf(row, n, keep, descending, places);
}
void FewOfI32(const int32_t* row, int64_t n, int64_t keep, bool descending, int64_t* places) {
  FewOf(row, n, keep, descending, places);
}
void FewOfI64(const int64_t* row, int64_t n, int64_t keep, bool descending, int64_t* places) {
  FewOf(row, n, keep, descending, places);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(FewOfF32);
BELAY_SIMD_EXPORT(FewOfF64);
BELAY_SIMD_EXPORT(FewOfI32);
BELAY_SIMD_EXPORT(FewOfI64);
void FirstFew(const float* row, int64_t n, int64_t keep, bool descending, int64_t* places) {
  BELAY_SIMD_CALL(FewOfF32)(row, n, keep, descending, places);
}
void FirstFew(const double* row, int64_t n, int64_t keep, bool descending, int64_t* places) {
  BELAY_SIMD_CALL(FewOfF64)(row, n, keep, descending, places);
}
void FirstFew(const int32_t* row, int64_t n, int64_t keep, bool descending, int64_t* places) {
  BELAY_SIMD_CALL(FewOfI32)(row, n, keep, descending, places);
}
void FirstFew(const int64_t* row, int64_t n, int64_t keep, bool descending, int64_t* places) {
  BELAY_SIMD_CALL(FewOfI64)(row, n, keep, descending, places);
}
}  // namespace belay::ops
#endif
