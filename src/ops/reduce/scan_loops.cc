#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/scan_loops.cc"
#include "ops/reduce/scan_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/some_lanes-inl.h"

#ifndef BELAY_OPS_SCAN_ONCE
#define BELAY_OPS_SCAN_ONCE
#include <algorithm>
#include <type_traits>

namespace belay::ops {
template <class T, class Acc>
struct Scans {
  ScanLoops<T, Acc> at[2][2];  // by product and exclusive
};
}  // namespace belay::ops
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T, class Acc, bool kProduct, bool kExclusive>
HWY_INLINE void TakeIn(T& result, T x, Acc& acc) {
  const Acc before = acc, each = static_cast<Acc>(x);
  acc = kProduct ? before * each : before + each;
  result = static_cast<T>(kExclusive ? before : acc);
}

// A line waits for each of its sums; several do so at the same time.
template <class T, class Acc, bool kProduct, bool kExclusive>
void Lines(T* results, const T* x, const ScanWay& way, int64_t size, int64_t n) {
  constexpr int64_t kTogether = 4;
  constexpr Acc kStart = kProduct ? 1 : 0;
  for (; n >= kTogether; n -= kTogether) {
    Acc acc[kTogether] = {kStart, kStart, kStart, kStart};
    for (int64_t k = 0; k < size; ++k) {
      T* to = results + k * way.along[0];
      const T* from = x + k * way.along[1];
      for (int64_t i = 0; i < kTogether; ++i) {
        TakeIn<T, Acc, kProduct, kExclusive>(to[i * way.across[0]], from[i * way.across[1]], acc[i]);
      }
    }
    results += kTogether * way.across[0], x += kTogether * way.across[1];
  }
  for (; n > 0; --n, results += way.across[0], x += way.across[1]) {
    Acc acc = kStart;
    for (int64_t k = 0; k < size; ++k) {
      TakeIn<T, Acc, kProduct, kExclusive>(results[k * way.along[0]], x[k * way.along[1]], acc);
    }
  }
}

// Running sums in registers: floats as doubles, integers modulo 2^n.
template <class T>
using SumTag = hn::ScalableTag<std::conditional_t<std::is_same_v<T, float>, double, T>>;
template <class T>
using Sums = hn::Vec<SumTag<T>>;
template <class T>
constexpr auto kWidth = static_cast<int64_t>(hn::MaxLanes(SumTag<T>()));

template <class T, bool kProduct, bool kExclusive>
HWY_INLINE void TakeSome(T* result, const T* x, Sums<T>& acc, int64_t n) {
  const SumTag<T> d;
  const hn::Rebind<T, SumTag<T>> memory;
  const auto in = LoadSome(memory, x, n, T{0});
  const Sums<T> before = acc;
  Sums<T> each;
  if constexpr (std::is_same_v<T, float>) {
    each = hn::PromoteTo(d, in);
  } else {
    each = in;
  }
  acc = kProduct ? hn::Mul(before, each) : hn::Add(before, each);
  if constexpr (std::is_same_v<T, float>) {
    StoreSome(hn::DemoteTo(memory, kExclusive ? before : acc), memory, result, n);
  } else {
    StoreSome(kExclusive ? before : acc, memory, result, n);
  }
}

// The sums lie in memory before the rows and behind them. Whatever Acc is, they are of SumTag's size.
template <class T, class Acc, bool kProduct, bool kExclusive>
void Steps(T* results, const T* x, Acc* acc, const ScanWay& way, int64_t rows, int64_t n) {
  const SumTag<T> d;
  auto* sums = reinterpret_cast<hn::TFromD<SumTag<T>>*>(acc);
  static_assert(sizeof(*acc) == sizeof(*sums));
  constexpr int64_t w = kWidth<T>;
  const auto take = [](T* to, const T* from, Sums<T>& sum, int64_t m)
                        HWY_ATTR { TakeSome<T, kProduct, kExclusive>(to, from, sum, m); };
  int64_t i = 0;
  for (; i + 2 * w <= n; i += 2 * w) {
    auto a = hn::LoadU(d, sums + i), b = hn::LoadU(d, sums + i + w);
    for (int64_t r = 0; r < rows; ++r) {
      T* to = results + r * way.along[0] + i;
      const T* from = x + r * way.along[1] + i;
      take(to, from, a, w), take(to + w, from + w, b, w);
    }
    hn::StoreU(a, d, sums + i), hn::StoreU(b, d, sums + i + w);
  }
  for (; i < n; i += w) {
    const int64_t m = std::min(w, n - i);
    auto sum = LoadSome(d, sums + i, m, 0);
    for (int64_t r = 0; r < rows; ++r) take(results + r * way.along[0] + i, x + r * way.along[1] + i, sum, m);
    StoreSome(sum, d, sums + i, m);
  }
}

template <class T, bool kProduct, bool kExclusive>
void Columns(T* results, const T* x, const ScanWay& way, int64_t size, int64_t n) {
  constexpr int64_t w = kWidth<T>;
  constexpr int64_t kWide = 4 * w, kNarrow = 2 * w;
  const auto start = hn::Set(SumTag<T>(), kProduct ? 1 : 0);
  const auto take = [](T* to, const T* from, Sums<T>& acc, int64_t m)
                        HWY_ATTR { TakeSome<T, kProduct, kExclusive>(to, from, acc, m); };
  for (; n >= kWide; n -= kWide, results += kWide, x += kWide) {
    auto a = start, b = start, c = start, e = start;
    for (int64_t k = 0; k < size; ++k) {
      T* to = results + k * way.along[0];
      const T* from = x + k * way.along[1];
      take(to, from, a, w), take(to + w, from + w, b, w);
      take(to + 2 * w, from + 2 * w, c, w), take(to + 3 * w, from + 3 * w, e, w);
    }
  }
  for (; n > 0; n -= kNarrow, results += kNarrow, x += kNarrow) {
    const int64_t first = std::min(n, w), second = std::clamp<int64_t>(n - w, 0, w);
    auto a = start, b = start;
    for (int64_t k = 0; k < size; ++k) {
      T* to = results + k * way.along[0];
      const T* from = x + k * way.along[1];
      take(to, from, a, first);
      if (second != 0) take(to + w, from + w, b, second);
    }
  }
}

template <class T, class Acc, bool kProduct, bool kExclusive>
constexpr ScanLoops<T, Acc> Of() {
  return {&Steps<T, Acc, kProduct, kExclusive>, &Lines<T, Acc, kProduct, kExclusive>,
          &Columns<T, kProduct, kExclusive>};
}
template <class T, class Acc>
constexpr Scans<T, Acc> kScans = {{{Of<T, Acc, false, false>(), Of<T, Acc, false, true>()},
                                   {Of<T, Acc, true, false>(), Of<T, Acc, true, true>()}}};

const Scans<float, double>* ScansF32() { return &kScans<float, double>; }
const Scans<double, double>* ScansF64() { return &kScans<double, double>; }
const Scans<int32_t, uint32_t>* ScansI32() { return &kScans<int32_t, uint32_t>; }
const Scans<int64_t, uint64_t>* ScansI64() { return &kScans<int64_t, uint64_t>; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(ScansF32);
template <>
const ScanLoops<float, double>& BestScanLoops(bool product, bool exclusive) {
  return BELAY_SIMD_CALL(ScansF32)()->at[product][exclusive];
}
BELAY_SIMD_EXPORT(ScansF64);
template <>
const ScanLoops<double, double>& BestScanLoops(bool product, bool exclusive) {
  return BELAY_SIMD_CALL(ScansF64)()->at[product][exclusive];
}
BELAY_SIMD_EXPORT(ScansI32);
template <>
const ScanLoops<int32_t, uint32_t>& BestScanLoops(bool product, bool exclusive) {
  return BELAY_SIMD_CALL(ScansI32)()->at[product][exclusive];
}
BELAY_SIMD_EXPORT(ScansI64);
template <>
const ScanLoops<int64_t, uint64_t>& BestScanLoops(bool product, bool exclusive) {
  return BELAY_SIMD_CALL(ScansI64)()->at[product][exclusive];
}
}  // namespace belay::ops
#endif
