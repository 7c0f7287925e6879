#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/arg_loops.cc"
#include "ops/reduce/arg_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/some_lanes-inl.h"

#ifndef BELAY_OPS_REDUCE_ARG_LOOPS_ONCE
#define BELAY_OPS_REDUCE_ARG_LOOPS_ONCE
#include <algorithm>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <bool kLargest, bool kLast, class V>
HWY_INLINE auto Wins(V x, V best) {
  if constexpr (!kLast) {
    return kLargest ? hn::Gt(x, best) : hn::Lt(x, best);
  } else if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
    return kLargest ? hn::Ge(x, best) : hn::Le(x, best);
  } else {
    return hn::Not(kLargest ? hn::Lt(x, best) : hn::Gt(x, best));
  }
}

// A vector of lines, of which the last ones may be missing.
template <bool kLargest, bool kLast, class T>
HWY_INLINE void ArgOfVector(const ArgRows<T>& rows, int64_t i) {
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<PlaceOf<T>> places;
  const int64_t n = rows.m - i;
  auto best = LoadSome(d, rows.best + i, n, T{0});
  auto where = LoadSome(places, rows.where + i, n, PlaceOf<T>{0});
  const T* x = rows.x + i;
  for (int64_t k = 0; k < rows.count; ++k, x += rows.step) {
    const auto next = LoadSome(d, x, n, T{0});
    auto better = Wins<kLargest, kLast>(next, best);
    if constexpr (std::is_floating_point_v<T>) {
      const auto none = hn::IsNaN(next), had = hn::IsNaN(best);
      better = hn::Or(better, rows.nan_wins ? hn::AndNot(had, none) : hn::AndNot(none, had));
    }
    best = hn::IfThenElse(better, next, best);
    const auto place = hn::Set(places, static_cast<PlaceOf<T>>(rows.first + k));
    where = hn::IfThenElse(hn::RebindMask(places, better), place, where);
  }
  StoreSome(best, d, rows.best + i, n);
  StoreSome(where, places, rows.where + i, n);
}

template <bool kLargest, bool kLast, class T>
HWY_ATTR void ArgOfRows(const ArgRows<T>& rows) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (int64_t i = 0; i < rows.m; i += lanes) ArgOfVector<kLargest, kLast>(rows, i);
}

template <class T>
ArgLoop<T> LoopFor(bool largest, bool last) {
  if (largest) return last ? &ArgOfRows<true, true, T> : &ArgOfRows<true, false, T>;
  return last ? &ArgOfRows<false, true, T> : &ArgOfRows<false, false, T>;
}

ArgLoop<float> ArgF32(bool largest, bool last) { return LoopFor<float>(largest, last); }
ArgLoop<double> ArgF64(bool largest, bool last) { return LoopFor<double>(largest, last); }
ArgLoop<int32_t> ArgI32(bool largest, bool last) { return LoopFor<int32_t>(largest, last); }
ArgLoop<int64_t> ArgI64(bool largest, bool last) { return LoopFor<int64_t>(largest, last); }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(ArgF32);
BELAY_SIMD_EXPORT(ArgF64);
BELAY_SIMD_EXPORT(ArgI32);
BELAY_SIMD_EXPORT(ArgI64);
template <>
ArgLoop<float> BestArgLoop<float>(bool largest, bool last) {
  return BELAY_SIMD_CALL(ArgF32)(largest, last);
}
template <>
ArgLoop<double> BestArgLoop<double>(bool largest, bool last) {
  return BELAY_SIMD_CALL(ArgF64)(largest, last);
}
template <>
ArgLoop<int32_t> BestArgLoop<int32_t>(bool largest, bool last) {
  return BELAY_SIMD_CALL(ArgI32)(largest, last);
}
template <>
ArgLoop<int64_t> BestArgLoop<int64_t>(bool largest, bool last) {
  return BELAY_SIMD_CALL(ArgI64)(largest, last);
}
}  // namespace belay::ops
#endif
