// Where a row ends within a vector: its first lanes, with nothing behind them touched on any instruction set.
// Included once per instruction set.
#include <algorithm>

#include "hwy/highway.h"

#if defined(BELAY_OPS_SOME_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_OPS_SOME_LANES_INL_H_
#undef BELAY_OPS_SOME_LANES_INL_H_
#else
#define BELAY_OPS_SOME_LANES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Elsewhere a masked load reads all the same.
constexpr bool kMasksGuard = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3;

// The first n elements (0 or more; of more than a vector has, all that it has); `rest` in the other lanes.
template <class D>
HWY_INLINE hn::Vec<D> LoadSome(D d, const hn::TFromD<D>* x, int64_t n, hn::TFromD<D> rest) {
  if (n >= static_cast<int64_t>(hn::MaxLanes(d))) return hn::LoadU(d, x);
  if constexpr (kMasksGuard) {
    const auto some = hn::FirstN(d, static_cast<size_t>(n));
    return hn::IfThenElse(some, hn::MaskedLoad(some, d, x), hn::Set(d, rest));
  } else {
    alignas(64) hn::TFromD<D> some[hn::MaxLanes(D())];
    std::fill(std::copy_n(x, n, some), some + hn::MaxLanes(D()), rest);
    return hn::Load(d, some);
  }
}

template <class D>
HWY_INLINE void StoreSome(hn::Vec<D> v, D d, hn::TFromD<D>* y, int64_t n) {
  if (n >= static_cast<int64_t>(hn::MaxLanes(d))) return hn::StoreU(v, d, y);
  if constexpr (kMasksGuard) {
    hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, y);
  } else {
    alignas(64) hn::TFromD<D> some[hn::MaxLanes(D())];
    hn::Store(v, d, some);
    std::copy_n(some, n, y);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();
#endif
