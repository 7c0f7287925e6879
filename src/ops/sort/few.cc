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

// As Leaders::Precedes.
template <bool kDescending, class D, class V>
HWY_INLINE auto PrecedesIn(D, V a, V b) {
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
    const auto less = kDescending ? hn::Lt(b, a) : hn::Lt(a, b);
    const auto bad_a = hn::IsNaN(a), bad_b = hn::IsNaN(b);
    return hn::Or(less, kDescending ? hn::AndNot(bad_b, bad_a) : hn::AndNot(bad_a, bad_b));
  } else {
    return kDescending ? hn::Lt(b, a) : hn::Lt(a, b);
  }
}

// A lane has the leaders of a row. What a new one precedes moves on by one place, all that is equal stays.
template <class T, bool kDescending>
HWY_ATTR void AcrossInOrder(const T* x, int64_t step, int64_t n, int64_t keep, int64_t* places) {
  const hn::CappedTag<T, kRowsAcross> d;
  const hn::RebindToSigned<decltype(d)> whole;
  using Place = hn::TFromD<decltype(whole)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  alignas(64) T values[kMostAcross * kRowsAcross];
  alignas(64) Place found[kMostAcross * kRowsAcross];
  for (int64_t at = 0; at < kRowsAcross; at += lanes) {
    for (int64_t k = 0; k < n; ++k) {
      const auto value = hn::LoadU(d, x + k * step + at);
      const auto place = hn::Set(whole, static_cast<Place>(k));
      int64_t j = k < keep ? k : keep - 1;
      auto best = value;  // what leader j becomes, unless the one before it moves there
      auto best_place = place;
      if (k >= keep) {
        const auto last = hn::Load(d, values + j * kRowsAcross);
        const auto better = PrecedesIn<kDescending>(d, value, last);
        if (HWY_LIKELY(hn::AllFalse(d, better))) continue;
        best = hn::IfThenElse(better, value, last);
        best_place =
            hn::IfThenElse(hn::RebindMask(whole, better), place, hn::Load(whole, found + j * kRowsAcross));
      }
      for (; j > 0; --j) {
        const auto before = hn::Load(d, values + (j - 1) * kRowsAcross);
        const auto place_before = hn::Load(whole, found + (j - 1) * kRowsAcross);
        const auto better = PrecedesIn<kDescending>(d, value, before);
        const auto same = hn::RebindMask(whole, better);
        hn::Store(hn::IfThenElse(better, before, best), d, values + j * kRowsAcross);
        hn::Store(hn::IfThenElse(same, place_before, best_place), whole, found + j * kRowsAcross);
        best = hn::IfThenElse(better, value, before);
        best_place = hn::IfThenElse(same, place, place_before);
      }
      hn::Store(best, d, values), hn::Store(best_place, whole, found);
    }
    for (int64_t k = 0; k < keep; ++k) {
      for (int64_t r = 0; r < lanes; ++r)
        places[k * kRowsAcross + at + r] = static_cast<int64_t>(found[k * kRowsAcross + r]);
    }
  }
}

template <class T>
void AcrossOf(const T* x, int64_t step, int64_t n, int64_t keep, bool descending, int64_t* places) {
  descending ? AcrossInOrder<T, true>(x, step, n, keep, places)
             : AcrossInOrder<T, false>(x, step, n, keep, places);
}

void AcrossOfF32(const float* x, int64_t step, int64_t n, int64_t keep, bool descending, int64_t* places) {
  AcrossOf(x, step, n, keep, descending, places);
}
void AcrossOfF64(const double* x, int64_t step, int64_t n, int64_t keep, bool descending, int64_t* places) {
  AcrossOf(x, step, n, keep, descending, places);
}
void AcrossOfI32(const int32_t* x, int64_t step, int64_t n, int64_t keep, bool descending, int64_t* places) {
  AcrossOf(x, step, n, keep, descending, places);
}
void AcrossOfI64(const int64_t* x, int64_t step, int64_t n, int64_t keep, bool descending, int64_t* places) {
  AcrossOf(x, step, n, keep, descending, places);
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
BELAY_SIMD_EXPORT(AcrossOfF32);
BELAY_SIMD_EXPORT(AcrossOfF64);
BELAY_SIMD_EXPORT(AcrossOfI32);
BELAY_SIMD_EXPORT(AcrossOfI64);
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
void FirstFewAcross(const float* x, int64_t step, int64_t n, int64_t keep, bool descending, int64_t* places) {
  BELAY_SIMD_CALL(AcrossOfF32)(x, step, n, keep, descending, places);
}
void FirstFewAcross(const double* x, int64_t step, int64_t n, int64_t keep, bool descending,
                    int64_t* places) {
  BELAY_SIMD_CALL(AcrossOfF64)(x, step, n, keep, descending, places);
}
void FirstFewAcross(const int32_t* x, int64_t step, int64_t n, int64_t keep, bool descending,
                    int64_t* places) {
  BELAY_SIMD_CALL(AcrossOfI32)(x, step, n, keep, descending, places);
}
void FirstFewAcross(const int64_t* x, int64_t step, int64_t n, int64_t keep, bool descending,
                    int64_t* places) {
  BELAY_SIMD_CALL(AcrossOfI64)(x, step, n, keep, descending, places);
}
}  // namespace belay::ops
#endif
