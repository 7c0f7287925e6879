#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pool/pool_loops.cc"
#include "ops/pool/pool_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_OPS_POOL_LOOPS_ONCE
#define BELAY_OPS_POOL_LOOPS_ONCE
#include <limits>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The compiler turns these into vectors of the target, as long as nothing is compared only sometimes. A NaN
// that is met stays.
template <class T>
void Max(T* __restrict__ most, const T* __restrict__ x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const T old = most[i], greater = x[i] <= old ? old : x[i];
    most[i] = old != old ? old : greater;
  }
}

template <class T>
void MaxPlace(T* __restrict__ most, int64_t* __restrict__ places, const T* __restrict__ x, int64_t place,
              int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bool keep = (x[i] <= most[i]) | (most[i] != most[i]);
    most[i] = keep ? most[i] : x[i];
    places[i] = keep ? places[i] : place;
  }
}

template <class T>
void Add(T* __restrict__ sum, const T* __restrict__ x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

template <class T>
void AddSquare(T* __restrict__ sum, const T* __restrict__ x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i] * x[i];
}

template <class T>
void AddSize(T* __restrict__ sum, const T* __restrict__ x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i] < 0 ? -x[i] : x[i];
}

template <class T>
void Scale(T* x, T factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

// each(at) for all that the window sees, from x on.
template <class T, class Each>
void ForWindow(const T* x, const PoolWindow& w, const Each& each) {
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t k = 0; k < w.columns; ++k) each(x + r * w.row_step + k * w.column_step);
  }
}

// Four at a time, which do not wait for each other; NaN is looked for beside, as it may lose against a
// number.
template <class T>
HWY_ATTR void MaxWindow(T* to, const T* x, const PoolWindow& w, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= n; c += lanes) {
    auto a = hn::LoadU(d, to + c), b = a, e = a, f = a;
    auto bad = hn::IsNaN(a);
    for (int64_t r = 0; r < w.rows; ++r) {
      const T* from = x + r * w.row_step + c;
      int64_t k = 0;
      for (; k + 4 <= w.columns; k += 4, from += 4 * w.column_step) {
        const auto p = hn::LoadU(d, from), q = hn::LoadU(d, from + w.column_step);
        const auto s = hn::LoadU(d, from + 2 * w.column_step), t = hn::LoadU(d, from + 3 * w.column_step);
        a = hn::Max(p, a), b = hn::Max(q, b), e = hn::Max(s, e), f = hn::Max(t, f);
        bad = hn::Or(bad, hn::Or(hn::Or(hn::IsNaN(p), hn::IsNaN(q)), hn::Or(hn::IsNaN(s), hn::IsNaN(t))));
      }
      for (; k < w.columns; ++k, from += w.column_step) {
        const auto p = hn::LoadU(d, from);
        b = hn::Max(p, b);
        bad = hn::Or(bad, hn::IsNaN(p));
      }
    }
    const auto most = hn::Max(hn::Max(a, b), hn::Max(e, f));
    hn::StoreU(hn::IfThenElse(bad, hn::Set(d, std::numeric_limits<T>::quiet_NaN()), most), d, to + c);
  }
  if (c == n) return;
  ForWindow(x + c, w, [=](const T* at) { Max(to + c, at, n - c); });
}

template <class T>
HWY_ATTR void AddWindow(T* to, const T* x, const PoolWindow& w, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 2 * lanes <= n; c += 2 * lanes) {
    auto first = hn::LoadU(d, to + c), second = hn::LoadU(d, to + c + lanes);
    for (int64_t r = 0; r < w.rows; ++r) {
      const T* from = x + r * w.row_step + c;
      for (int64_t k = 0; k < w.columns; ++k, from += w.column_step) {
        first = hn::Add(first, hn::LoadU(d, from));
        second = hn::Add(second, hn::LoadU(d, from + lanes));
      }
    }
    hn::StoreU(first, d, to + c);
    hn::StoreU(second, d, to + c + lanes);
  }
  if (c == n) return;
  ForWindow(x + c, w, [=](const T* at) { Add(to + c, at, n - c); });
}

// Bytes have no NaN.
template <class T>
HWY_ATTR void MaxWindowOfBytes(T* to, const T* x, const PoolWindow& w, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= n; c += lanes) {
    auto most = hn::LoadU(d, to + c);
    for (int64_t r = 0; r < w.rows; ++r) {
      const T* from = x + r * w.row_step + c;
      for (int64_t k = 0; k < w.columns; ++k, from += w.column_step) most = hn::Max(hn::LoadU(d, from), most);
    }
    hn::StoreU(most, d, to + c);
  }
  if (c == n) return;
  ForWindow(x + c, w, [=](const T* at) { Max(to + c, at, n - c); });
}

template <class T>
constexpr PoolLoops<T> LargestBytes() {
  return {&MaxWindowOfBytes<T>, nullptr, &Max<T>, nullptr, nullptr, nullptr, nullptr, nullptr};
}
constexpr PoolLoops<int8_t> kLoopsI8 = LargestBytes<int8_t>();
constexpr PoolLoops<uint8_t> kLoopsU8 = LargestBytes<uint8_t>();
const PoolLoops<int8_t>& PoolLoopsI8() { return kLoopsI8; }
const PoolLoops<uint8_t>& PoolLoopsU8() { return kLoopsU8; }

constexpr PoolLoops<float> kLoopsF32{&MaxWindow<float>, &AddWindow<float>, &Max<float>,     &MaxPlace<float>,
                                     &Add<float>,       &AddSquare<float>, &AddSize<float>, &Scale<float>};
constexpr PoolLoops<double> kLoopsF64{&MaxWindow<double>, &AddWindow<double>, &Max<double>,
                                      &MaxPlace<double>,  &Add<double>,       &AddSquare<double>,
                                      &AddSize<double>,   &Scale<double>};
const PoolLoops<float>& PoolLoopsF32() { return kLoopsF32; }
const PoolLoops<double>& PoolLoopsF64() { return kLoopsF64; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(PoolLoopsF32);
BELAY_SIMD_EXPORT(PoolLoopsF64);
BELAY_SIMD_EXPORT(PoolLoopsI8);
BELAY_SIMD_EXPORT(PoolLoopsU8);
const PoolLoops<float>& BestPoolLoopsF32() { return BELAY_SIMD_CALL(PoolLoopsF32)(); }
const PoolLoops<double>& BestPoolLoopsF64() { return BELAY_SIMD_CALL(PoolLoopsF64)(); }
const PoolLoops<int8_t>& BestPoolLoopsI8() { return BELAY_SIMD_CALL(PoolLoopsI8)(); }
const PoolLoops<uint8_t>& BestPoolLoopsU8() { return BELAY_SIMD_CALL(PoolLoopsU8)(); }
}  // namespace belay::ops
#endif
