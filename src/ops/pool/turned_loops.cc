#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pool/turned_loops.cc"
#include "ops/pool/turned_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::CappedTag<float, kPlanesTurned>;
using Floats = hn::Vec<Lanes>;
constexpr auto kWidth = static_cast<int64_t>(hn::MaxLanes(Lanes()));

struct Added {
  static HWY_INLINE Floats Start() { return hn::Zero(Lanes()); }
  static HWY_INLINE Floats Of(Floats all, Floats x) { return hn::Add(all, x); }
};

// A NaN that is met stays.
struct Largest {
  static HWY_INLINE Floats Start() { return hn::Neg(hn::Inf(Lanes())); }
  static HWY_INLINE Floats Of(Floats all, Floats x) {
    return hn::IfThenElse(hn::Or(hn::Le(x, all), hn::IsNaN(all)), all, x);
  }
};

struct LargestOfNumbers : Largest {
  static HWY_INLINE Floats Of(Floats all, Floats x) { return hn::Max(x, all); }
};

// A product of 0 with what is no number, or is infinite, is a NaN, which stays in a sum.
HWY_ATTR bool AreNumbers(const float* x, int64_t n) {
  const Lanes d;
  auto even = hn::Zero(d), odd = even;
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    even = hn::MulAdd(hn::LoadU(d, x + i), hn::Zero(d), even);
    odd = hn::MulAdd(hn::LoadU(d, x + i + kWidth), hn::Zero(d), odd);
  }
  if (i < n) even = hn::MulAdd(hn::LoadU(d, x + i), hn::Zero(d), even);
  return hn::AllFalse(d, hn::IsNaN(hn::Add(even, odd)));
}

// kVectors of each piece at once, from i on.
template <class Op, int64_t kVectors>
HWY_INLINE void FoldSome(const TurnedFold& f, float* to, const float* from, Floats divisor) {
  const Lanes d;
  Floats all[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) all[v] = Op::Start();
  for (int64_t k = 0; k < f.count; ++k, from += f.step) {
    HWY_UNROLL(4)
    for (int64_t v = 0; v < kVectors; ++v) all[v] = Op::Of(all[v], hn::LoadU(d, from + v * kWidth));
  }
  for (int64_t v = 0; v < kVectors; ++v)
    hn::StoreU(f.divisors == nullptr ? all[v] : hn::Div(all[v], divisor), d, to + v * kWidth);
}

template <class Op>
HWY_ATTR void FoldPieces(const TurnedFold& f) {
  const Lanes d;
  for (int64_t r = 0; r < f.results; ++r) {
    float* to = f.to + r * f.to_step;
    const float* from = f.from + r * f.from_step;
    const auto divisor = hn::Set(d, f.divisors == nullptr ? 1 : f.divisors[r]);
    int64_t i = 0;
    for (; i + 4 * kWidth <= f.n; i += 4 * kWidth) FoldSome<Op, 4>(f, to + i, from + i, divisor);
    for (; i < f.n; i += kWidth) FoldSome<Op, 1>(f, to + i, from + i, divisor);
  }
}

// A NaN that is met stays; of equal ones the first does, and the place is 0 where none is larger than
// nothing.
HWY_ATTR void MostAndPlaces(float* most, int32_t* places, const float* from, int32_t place,
                            const TurnedWindow& w) {
  const Lanes d;
  const hn::RebindToSigned<Lanes> di;
  for (int64_t c = 0; c < kPlanesTurned; c += kWidth) {
    auto all = hn::Neg(hn::Inf(d));
    auto at = hn::Zero(di);
    for (int64_t z = 0; z < w.count[0]; ++z) {
      for (int64_t y = 0; y < w.count[1]; ++y) {
        const float* row = from + z * w.step[0] + y * w.step[1] + c;
        int32_t here =
            place + static_cast<int32_t>(z) * w.place_step[0] + static_cast<int32_t>(y) * w.place_step[1];
        for (int64_t x = 0; x < w.count[2]; ++x, row += w.step[2], here += w.place_step[2]) {
          const auto value = hn::LoadU(d, row);
          const auto keep = hn::Or(hn::Le(value, all), hn::IsNaN(all));
          all = hn::IfThenElse(keep, all, value);
          at = hn::IfThenElse(hn::RebindMask(di, keep), at, hn::Set(di, here));
        }
      }
    }
    hn::StoreU(all, d, most + c);
    hn::StoreU(at, di, places + c);
  }
}

constexpr TurnedLoops kTurnedLoops{&FoldPieces<Added>, &FoldPieces<Largest>, &FoldPieces<LargestOfNumbers>,
                                   &AreNumbers, &MostAndPlaces};
const TurnedLoops& LoopsOfTurned() { return kTurnedLoops; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(LoopsOfTurned);
const TurnedLoops& BestTurnedLoops() { return BELAY_SIMD_CALL(LoopsOfTurned)(); }
}  // namespace belay::ops
#endif
