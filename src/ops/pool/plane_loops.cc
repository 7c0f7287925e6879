#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pool/plane_loops.cc"
#include "ops/pool/plane_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_OPS_PLANE_LOOPS_ONCE
#define BELAY_OPS_PLANE_LOOPS_ONCE
#include <limits>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A NaN that is met stays. It is looked for beside, as it may lose against a number.
struct Most {
  template <class D>
  struct Fold {
    using V = hn::Vec<D>;
    V all;
    hn::Mask<D> bad;
    HWY_INLINE explicit Fold(D d) : all(hn::Neg(hn::Inf(d))), bad(hn::IsNaN(all)) {}
    HWY_INLINE void Take(V x) {
      all = hn::Max(x, all);
      bad = hn::Or(bad, hn::IsNaN(x));
    }
    HWY_INLINE V Done(D d) const { return hn::IfThenElse(bad, hn::NaN(d), all); }
  };
  template <class T>
  static T Start() {
    return -std::numeric_limits<T>::infinity();
  }
  template <class T>
  static HWY_INLINE T OfTwo(T x, T most) {
    const T greater = x <= most ? most : x;
    return most != most ? most : greater;
  }
};

struct Sum {
  template <class D>
  struct Fold {
    using V = hn::Vec<D>;
    V all;
    HWY_INLINE explicit Fold(D d) : all(hn::Zero(d)) {}
    HWY_INLINE void Take(V x) { all = hn::Add(all, x); }
    HWY_INLINE V Done(D) const { return all; }
  };
  template <class T>
  static T Start() {
    return T{0};
  }
  template <class T>
  static HWY_INLINE T OfTwo(T x, T sum) {
    return sum + x;
  }
};

template <class Op, class D, class T = hn::TFromD<D>>
HWY_INLINE void RowsAt(D d, T* to, const T* from, int64_t count, int64_t row_step, bool more) {
  typename Op::template Fold<D> fold(d);
  if (more) fold.Take(hn::LoadU(d, to));
  for (int64_t r = 0; r < count; ++r, from += row_step) fold.Take(hn::LoadU(d, from));
  hn::StoreU(fold.Done(d), d, to);
}

// From i on, as far as there are whole vectors. The last may begin earlier where nothing is added twice by
// that.
template <class Op, class D, class T = hn::TFromD<D>>
HWY_INLINE int64_t RowsBy(D d, int64_t i, T* to, const T* from, int64_t count, int64_t row_step, int64_t n,
                          bool more) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) RowsAt<Op>(d, to + i, from + i, count, row_step, more);
  if (more || i == n || n < lanes) return i;
  RowsAt<Op>(d, to + n - lanes, from + n - lanes, count, row_step, false);
  return n;
}

// Rows end anywhere: what is left is taken by smaller vectors.
template <class Op, class T>
HWY_ATTR void Line(T* to, const T* from, int64_t count, int64_t row_step, int64_t n, bool more) {
  constexpr size_t kHalf = 32 / sizeof(T);
  int64_t i = RowsBy<Op>(hn::ScalableTag<T>(), 0, to, from, count, row_step, n, more);
  i = RowsBy<Op>(hn::CappedTag<T, kHalf>(), i, to, from, count, row_step, n, more);
  i = RowsBy<Op>(hn::CappedTag<T, kHalf / 2>(), i, to, from, count, row_step, n, more);
  for (; i < n; ++i) {
    T all = more ? to[i] : Op::template Start<T>();
    for (int64_t r = 0; r < count; ++r) all = Op::OfTwo(from[r * row_step + i], all);
    to[i] = all;
  }
}

template <class Op, class T>
void Lines(const PlaneLines<T>& l) {
  for (int64_t r = 0; r < l.results; ++r)
    Line<Op>(l.to + r * l.to_pitch, l.from + r * l.from_pitch, l.count, l.row_step, l.n, l.more);
}

// What the taps of `lanes` windows leave, kStride apart. Windows of neighbouring taps share what is loaded.
template <class Op, int kStride, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> Taps(D d, const T* from, int64_t taps, int64_t step) {
  typename Op::template Fold<D> fold(d);
  int64_t k = 0;
  hn::Vec<D> a, b, c;
  if constexpr (kStride == 1) {
    for (; k < taps; ++k, from += step) fold.Take(hn::LoadU(d, from));
  } else if constexpr (kStride == 2) {
    for (; step == 1 && k + 2 <= taps; k += 2) {
      hn::LoadInterleaved2(d, from + k, a, b);
      fold.Take(a), fold.Take(b);
    }
    for (; k < taps; ++k) {
      hn::LoadInterleaved2(d, from + k * step, a, b);
      fold.Take(a);
    }
  } else {
    for (; step == 1 && k + 3 <= taps; k += 3) {
      hn::LoadInterleaved3(d, from + k, a, b, c);
      fold.Take(a), fold.Take(b), fold.Take(c);
    }
    for (; k < taps; ++k) {
      hn::LoadInterleaved3(d, from + k * step, a, b, c);
      fold.Take(a);
    }
  }
  return fold.Done(d);
}

// One window after the other: four vectors of a long one do not wait for each other.
template <class Op, class T>
HWY_ATTR void Apart(T* to, const T* from, const PlaneWindows& w) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN T parts[64 / sizeof(T)];
  for (int64_t i = 0; i < w.count; ++i) {
    const T* at = from + i * w.stride;
    T all = Op::template Start<T>();
    int64_t k = 0;
    if (w.step == 1 && w.taps >= 2 * lanes) {
      typename Op::template Fold<decltype(d)> a(d), b(d), c(d), e(d);
      for (; k + 4 * lanes <= w.taps; k += 4 * lanes) {
        a.Take(hn::LoadU(d, at + k)), b.Take(hn::LoadU(d, at + k + lanes));
        c.Take(hn::LoadU(d, at + k + 2 * lanes)), e.Take(hn::LoadU(d, at + k + 3 * lanes));
      }
      for (; k + lanes <= w.taps; k += lanes) a.Take(hn::LoadU(d, at + k));
      a.Take(b.Done(d)), c.Take(e.Done(d)), a.Take(c.Done(d));
      hn::Store(a.Done(d), d, parts);
      for (int64_t part = 0; part < lanes; ++part) all = Op::OfTwo(parts[part], all);
    }
    for (; k < w.taps; ++k) all = Op::OfTwo(at[k * w.step], all);
    to[i] = all;
  }
}

// False where there are fewer windows than a vector has places; the last vector may begin earlier than where
// the one before it ends.
template <class Op, int kStride, class D, class T = hn::TFromD<D>>
HWY_INLINE bool StridedBy(D d, T* to, const T* from, const PlaneWindows& w) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (w.count < lanes) return false;
  auto at = [&](int64_t i) {
    hn::StoreU(Taps<Op, kStride>(d, from + i * kStride, w.taps, w.step), d, to + i);
  };
  int64_t i = 0;
  for (; i + lanes <= w.count; i += lanes) at(i);
  if (i < w.count) at(w.count - lanes);
  return true;
}

template <class Op, int kStride, class T>
HWY_ATTR void Strided(T* to, const T* from, const PlaneWindows& w) {
  constexpr size_t kHalf = 32 / sizeof(T);
  if (StridedBy<Op, kStride>(hn::ScalableTag<T>(), to, from, w)) return;
  if (StridedBy<Op, kStride>(hn::CappedTag<T, kHalf>(), to, from, w)) return;
  if (StridedBy<Op, kStride>(hn::CappedTag<T, kHalf / 2>(), to, from, w)) return;
  Apart<Op>(to, from, w);
}

template <class Op, class T>
void Along(T* to, const T* from, const PlaneWindows& w) {
  const auto row = w.stride == 1   ? &Strided<Op, 1, T>
                   : w.stride == 2 ? &Strided<Op, 2, T>
                   : w.stride == 3 ? &Strided<Op, 3, T>
                                   : &Apart<Op, T>;
  for (int64_t r = 0; r < w.rows; ++r) row(to + r * w.to_pitch, from + r * w.from_pitch, w);
}

template <class T>
void Scale(T* __restrict__ to, const T* __restrict__ factors, int64_t n, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, to += n) {
    for (int64_t i = 0; i < n; ++i) to[i] *= factors[i];
  }
}

constexpr PlaneLoops<float> kLoopsF32{&Lines<Most, float>, &Lines<Sum, float>, &Along<Most, float>,
                                      &Along<Sum, float>, &Scale<float>};
constexpr PlaneLoops<double> kLoopsF64{&Lines<Most, double>, &Lines<Sum, double>, &Along<Most, double>,
                                       &Along<Sum, double>, &Scale<double>};
const PlaneLoops<float>& PlaneLoopsF32() { return kLoopsF32; }
const PlaneLoops<double>& PlaneLoopsF64() { return kLoopsF64; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(PlaneLoopsF32);
BELAY_SIMD_EXPORT(PlaneLoopsF64);
const PlaneLoops<float>& BestPlaneLoopsF32() { return BELAY_SIMD_CALL(PlaneLoopsF32)(); }
const PlaneLoops<double>& BestPlaneLoopsF64() { return BELAY_SIMD_CALL(PlaneLoopsF64)(); }
}  // namespace belay::ops
#endif
