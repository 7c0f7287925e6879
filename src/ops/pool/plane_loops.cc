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

// What a fold knows beside its vectors: nothing.
struct Unseen {
  template <class D>
  HWY_INLINE explicit Unseen(D) {}
  template <class Fold>
  HWY_INLINE void Add(const Fold&) {}
  template <class D>
  HWY_INLINE bool OnlyNumbers(D) const {
    return true;
  }
};

// A NaN that is met stays. It is looked for beside, as it may lose against a number.
struct Most {
  static constexpr bool kScaled = false;
  template <class D>
  using Seen = Unseen;
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
    HWY_INLINE void Look(V) {}
    HWY_INLINE V Done(D d) const { return hn::IfThenElse(bad, hn::NaN(d), all); }
    HWY_INLINE hn::TFromD<D> One(D d) const {
      return hn::GetLane(hn::AllFalse(d, bad) ? hn::MaxOfLanes(d, all) : hn::NaN(d));
    }
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

// The same of numbers. A product of 0 with what is none, or is infinite, is a NaN, which stays in a sum: that
// takes less than to look at each.
struct MostOfNumbers : Most {
  template <class D>
  struct Seen {
    hn::Vec<D> sum;
    HWY_INLINE explicit Seen(D d) : sum(hn::Zero(d)) {}
    template <class Fold>
    HWY_INLINE void Add(const Fold& fold) {
      sum = hn::Add(sum, fold.nothing);
    }
    HWY_INLINE bool OnlyNumbers(D d) const { return hn::AllFalse(d, hn::IsNaN(sum)); }
  };
  template <class D>
  struct Fold {
    using V = hn::Vec<D>;
    V all, nothing;
    HWY_INLINE explicit Fold(D d) : all(hn::Neg(hn::Inf(d))), nothing(hn::Zero(d)) {}
    HWY_INLINE void Take(V x) { all = hn::Max(x, all); }
    HWY_INLINE void Look(V x) { nothing = hn::MulAdd(x, hn::Zero(D()), nothing); }
    HWY_INLINE V Done(D) const { return all; }
    HWY_INLINE hn::TFromD<D> One(D d) const { return hn::GetLane(hn::MaxOfLanes(d, all)); }
  };
};

struct Sum {
  static constexpr bool kScaled = true;
  template <class D>
  using Seen = Unseen;
  template <class D>
  struct Fold {
    using V = hn::Vec<D>;
    V all;
    HWY_INLINE explicit Fold(D d) : all(hn::Zero(d)) {}
    HWY_INLINE void Take(V x) { all = hn::Add(all, x); }
    HWY_INLINE void Look(V) {}
    HWY_INLINE V Done(D) const { return all; }
    HWY_INLINE hn::TFromD<D> One(D d) const { return hn::GetLane(hn::SumOfLanes(d, all)); }
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

// kCount: of lines to which none is added that was there before; 0: any.
template <class Op, int kCount, class D, class T = hn::TFromD<D>>
HWY_INLINE void RowsAt(D d, T* to, const T* from, const PlaneLines<T>& l,
                       typename Op::template Seen<D>& seen) {
  typename Op::template Fold<D> fold(d);
  if (kCount == 0 && l.more) fold.Take(hn::LoadU(d, to));
  const int64_t count = kCount == 0 ? l.count : kCount;
  for (int64_t r = 0; r < count; ++r, from += l.row_step) {
    const auto x = hn::LoadU(d, from);
    fold.Take(x), fold.Look(x);
  }
  seen.Add(fold);
  hn::StoreU(fold.Done(d), d, to);
}

// From i on, as far as there are whole vectors. The last may begin earlier where nothing is added twice by
// that.
template <class Op, int kCount, class D, class T = hn::TFromD<D>>
HWY_INLINE bool RowsBy(D d, int64_t& i, T* to, const T* from, const PlaneLines<T>& l) {
  typename Op::template Seen<D> seen(d);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= l.n; i += lanes) RowsAt<Op, kCount>(d, to + i, from + i, l, seen);
  if (!l.more && i < l.n && l.n >= lanes) {
    RowsAt<Op, kCount>(d, to + l.n - lanes, from + l.n - lanes, l, seen);
    i = l.n;
  }
  return seen.OnlyNumbers(d);
}

// Rows end anywhere: what is left is taken by smaller vectors.
template <class Op, int kCount, class T>
HWY_ATTR bool Line(T* to, const T* from, const PlaneLines<T>& l) {
  constexpr size_t kHalf = 32 / sizeof(T);
  int64_t i = 0;
  bool numbers = RowsBy<Op, kCount>(hn::ScalableTag<T>(), i, to, from, l);
  if (i < l.n) numbers &= RowsBy<Op, kCount>(hn::CappedTag<T, kHalf>(), i, to, from, l);
  if (i < l.n) numbers &= RowsBy<Op, kCount>(hn::CappedTag<T, kHalf / 2>(), i, to, from, l);
  for (; i < l.n; ++i) {
    T all = l.more ? to[i] : Op::template Start<T>();
    for (int64_t r = 0; r < l.count; ++r) {
      const T x = from[r * l.row_step + i];
      all = Op::OfTwo(x, all), numbers &= x - x == 0;
    }
    to[i] = all;
  }
  return numbers;
}

template <class Op, class T>
bool Lines(const PlaneLines<T>& l) {
  bool numbers = true;
  const auto line = l.more || l.count > 3 ? &Line<Op, 0, T>
                    : l.count == 3        ? &Line<Op, 3, T>
                    : l.count == 2        ? &Line<Op, 2, T>
                                          : &Line<Op, 0, T>;
  for (int64_t r = 0; r < l.results; ++r)
    numbers &= line(l.to + r * l.to_pitch, l.from + r * l.from_pitch, l);
  return numbers;
}

// What the taps of `lanes` windows leave, kStride apart. Windows of neighbouring taps share what is loaded.
template <class Op, int kStride, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> Taps(D d, const T* from, int64_t taps, int64_t step) {
  typename Op::template Fold<D> fold(d);
  int64_t k = 0;
  hn::Vec<D> a, b, c;
  if constexpr (kStride == 1) {
    for (; k < taps; ++k, from += step) fold.Take(hn::LoadU(d, from));
  } else if constexpr (kStride == 2) {  // of windows one apart, of which every other one is wanted
    typename Op::template Fold<D> more(d);
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; k < taps; ++k, from += step) fold.Take(hn::LoadU(d, from)), more.Take(hn::LoadU(d, from + lanes));
#if HWY_TARGET != HWY_SCALAR
    return hn::ConcatEven(d, more.Done(d), fold.Done(d));
#endif
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
HWY_ATTR void Apart(T* to, const T* from, [[maybe_unused]] const T* factors, const PlaneWindows& w) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
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
      all = a.One(d);
    }
    for (; k < w.taps; ++k) all = Op::OfTwo(at[k * w.step], all);
    if constexpr (Op::kScaled) all *= factors[i];
    to[i] = all;
  }
}

// False where there are fewer windows than a vector has places; the last vector may begin earlier than where
// the one before it ends.
template <class Op, int kStride, class D, class T = hn::TFromD<D>>
HWY_INLINE bool StridedBy(D d, T* to, const T* from, [[maybe_unused]] const T* factors,
                          const PlaneWindows& w) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (w.count < lanes) return false;
  auto at = [&](int64_t i) {
    auto all = Taps<Op, kStride>(d, from + i * kStride, w.taps, w.step);
    if constexpr (Op::kScaled) all = hn::Mul(all, hn::LoadU(d, factors + i));
    hn::StoreU(all, d, to + i);
  };
  int64_t i = 0;
  for (; i + lanes <= w.count; i += lanes) at(i);
  if (i < w.count) at(w.count - lanes);
  return true;
}

template <class Op, int kStride, class T>
HWY_ATTR void Strided(T* to, const T* from, const T* factors, const PlaneWindows& w) {
  constexpr size_t kHalf = 32 / sizeof(T);
  if (StridedBy<Op, kStride>(hn::ScalableTag<T>(), to, from, factors, w)) return;
  if (StridedBy<Op, kStride>(hn::CappedTag<T, kHalf>(), to, from, factors, w)) return;
  if (StridedBy<Op, kStride>(hn::CappedTag<T, kHalf / 2>(), to, from, factors, w)) return;
  Apart<Op>(to, from, factors, w);
}

template <class Op, class T>
void Along(T* to, const T* from, const T* factors, const PlaneWindows& w) {
  const auto row = w.stride == 1   ? &Strided<Op, 1, T>
                   : w.stride == 2 ? &Strided<Op, 2, T>
                   : w.stride == 3 ? &Strided<Op, 3, T>
                                   : &Apart<Op, T>;
  for (int64_t r = 0; r < w.rows; ++r) row(to + r * w.to_pitch, from + r * w.from_pitch, factors, w);
}

constexpr PlaneLoops<float> kLoopsF32{hn::MaxLanes(hn::ScalableTag<float>()),
                                      &Lines<Most, float>,
                                      &Lines<Sum, float>,
                                      &Along<Most, float>,
                                      &Along<Sum, float>,
                                      &Lines<MostOfNumbers, float>,
                                      &Along<MostOfNumbers, float>};
// Seldom pooled: NaN are looked for in any case.
bool NoneOfNumbers(const PlaneLines<double>&) { return false; }
constexpr PlaneLoops<double> kLoopsF64{hn::MaxLanes(hn::ScalableTag<double>()),
                                       &Lines<Most, double>,
                                       &Lines<Sum, double>,
                                       &Along<Most, double>,
                                       &Along<Sum, double>,
                                       &NoneOfNumbers,
                                       &Along<Most, double>};
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
