// The loops of deviates.h as vectors by hand. Included once per instruction set; where that has no vectors
// there is nothing here.
#include <algorithm>
#include <array>
#include <cmath>

#include "hwy/highway.h"
#include "ops/elementwise/vectors-inl.h"
#include "ops/random/deviates.h"

#if defined(BELAY_OPS_DEVIATES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_OPS_DEVIATES_INL_H_
#undef BELAY_OPS_DEVIATES_INL_H_
#else
#define BELAY_OPS_DEVIATES_INL_H_
#endif

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A block for each lane of a vector of words. They are drawn in lanes of 64 bits: a multiplication sees the
// lower half of each, so that what is left in the upper halves does not matter before the end.
class Rounds {
 public:
  using Wide = hn::ScalableTag<uint64_t>;
  using Narrow = hn::ScalableTag<uint32_t>;
  using Words = hn::Vec<Narrow>;

  // order(i): how far behind the first block that of lane i lies.
  template <class Order>
  Rounds(const Philox& philox, const Order& order)
      : keys_(philox.Keys()), low_(philox.low()), high_(philox.high()) {
    for (size_t i = 0; i < hn::Lanes(Narrow()); ++i) places_[i % 2][i / 2] = order(i);
  }

  // words[w] is word w of the blocks from `first` on.
  HWY_INLINE void Draw(uint64_t first, Words* words) const {
    const Wide d;
    Half even(At(first, 0), low_, high_), odd(At(first, 1), low_, high_);
    for (size_t key = 0; key < keys_.size(); key += 2) {
      const auto a = hn::Set(d, keys_[key]), b = hn::Set(d, keys_[key + 1]);
      even.Round(a, b);
      odd.Round(a, b);
    }
    const Narrow words_of;
    for (int w = 0; w < 4; ++w)
      words[w] =
          hn::OddEven(hn::BitCast(words_of, hn::ShiftLeft<32>(odd.x[w])), hn::BitCast(words_of, even.x[w]));
  }

 private:
  struct Half {
    hn::Vec<Wide> x[4];

    HWY_INLINE Half(hn::Vec<Wide> at, uint64_t low, uint64_t high) {
      const Wide d;
      x[0] = at, x[1] = hn::ShiftRight<32>(at);
      x[2] = hn::IfThenElse(hn::Lt(at, hn::Set(d, low)), hn::Set(d, high + 1), hn::Set(d, high));
      x[3] = hn::ShiftRight<32>(x[2]);
    }
    HWY_INLINE void Round(hn::Vec<Wide> first_key, hn::Vec<Wide> second_key) {
      const auto a = Times(x[0], Philox::kFactors[0]), b = Times(x[2], Philox::kFactors[1]);
      x[0] = hn::Xor3(hn::ShiftRight<32>(b), x[1], first_key);
      x[2] = hn::Xor3(hn::ShiftRight<32>(a), x[3], second_key);
      x[1] = b, x[3] = a;
    }
    HWY_INLINE static hn::Vec<Wide> Times(hn::Vec<Wide> x, uint32_t factor) {
      return hn::MulEven(hn::BitCast(Narrow(), x), hn::Set(Narrow(), factor));
    }
  };

  HWY_INLINE hn::Vec<Wide> At(uint64_t first, int half) const {
    return hn::Add(hn::Set(Wide(), low_ + first), hn::LoadU(Wide(), places_[half]));
  }

  std::array<uint32_t, 2 * Philox::kRounds> keys_;
  uint64_t low_, high_;
  uint64_t places_[2][hn::MaxLanes(Wide())];
};

// What is left of a row's last vector lies behind its end, where the next row has not begun.
HWY_ATTR void Words(const Philox& philox, uint64_t first, int64_t blocks, uint32_t* words) {
  const Rounds::Narrow d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  static_assert(kBlocksTogether % hn::MaxLanes(d) == 0);
  const Rounds rounds(philox, [](size_t lane) { return lane; });
  Rounds::Words of[4];
  for (int64_t i = 0; i < blocks; i += lanes) {
    rounds.Draw(first + static_cast<uint64_t>(i), of);
    for (int w = 0; w < 4; ++w) hn::StoreU(of[w], d, words + w * kBlocksTogether + i);
  }
}

using Reals = hn::ScalableTag<float>;
using Real = hn::Vec<Reals>;
using WholeNumbers = hn::RebindToSigned<Reals>;

// Four vectors as columns of rows of four numbers: the rows of the first lanes of their parts of 128 bits,
// then those of the second lanes, and so on.
HWY_INLINE void StoreColumns(const Real* v, float* to) {
  const Reals d;
  const hn::ScalableTag<uint64_t> pairs;
  const auto store = [&](auto rows, size_t part) {
    hn::StoreU(hn::BitCast(d, rows), d, to + part * hn::Lanes(d));
  };
  const auto a = hn::BitCast(pairs, hn::InterleaveLower(d, v[0], v[1])),
             b = hn::BitCast(pairs, hn::InterleaveLower(d, v[2], v[3]));
  store(hn::InterleaveLower(pairs, a, b), 0);
  store(hn::InterleaveUpper(pairs, a, b), 1);
  const auto upper_a = hn::BitCast(pairs, hn::InterleaveUpper(d, v[0], v[1])),
             upper_b = hn::BitCast(pairs, hn::InterleaveUpper(d, v[2], v[3]));
  store(hn::InterleaveLower(pairs, upper_a, upper_b), 2);
  store(hn::InterleaveUpper(pairs, upper_a, upper_b), 3);
}

// make(words, numbers) makes of each word a number. The blocks are drawn in the order that StoreColumns turns
// into theirs.
template <class Make>
HWY_INLINE void EachNumber(const Philox& philox, uint64_t first, int64_t count, Stretch<float> spread,
                           float* out, const Make& make) {
  const Reals d;
  const size_t lanes = hn::Lanes(d);
  const Rounds rounds(philox, [&](size_t lane) { return lane % 4 * (lanes / 4) + lane / 4; });
  const auto scale = hn::Set(d, spread.scale), shift = hn::Set(d, spread.shift),
             most = hn::Set(d, spread.most);
  const auto step = static_cast<int64_t>(4 * lanes);
  for (int64_t i = 0; i < count; i += step) {
    Rounds::Words words[4];
    rounds.Draw(first + static_cast<uint64_t>(i / 4), words);
    Real numbers[4];
    make(words, numbers);
    for (Real& v : numbers) v = hn::Min(most, hn::Add(hn::Mul(v, scale), shift));
    if (i + step <= count) {
      StoreColumns(numbers, out + i);
    } else {
      HWY_ALIGN float rest[4 * hn::MaxLanes(d)];
      StoreColumns(numbers, rest);
      std::copy_n(rest, count - i, out + i);
    }
  }
}

HWY_ATTR void Fractions(const Philox& philox, uint64_t first, int64_t count, int bits, Stretch<float> spread,
                        float* out) {
  const Reals d;
  const auto unit = hn::Set(d, std::ldexp(1.0f, -bits));
  EachNumber(philox, first, count, spread, out, [&](const Rounds::Words* words, Real* numbers) {
    for (int w = 0; w < 4; ++w) {
      const auto whole = hn::BitCast(WholeNumbers(), hn::ShiftRightSame(words[w], 32 - bits));
      numbers[w] = hn::Mul(hn::ConvertTo(d, whole), unit);
    }
  });
}

// Sine and cosine of a part of a whole turn, which the 24 highest bits say: of the distance to the nearest
// quarter, then turned by that.
HWY_INLINE void Turn(Rounds::Words part, Real* sine, Real* cosine) {
  const Reals d;
  const Rounds::Narrow bits;
  const auto of = [&](float x) { return hn::Set(d, x); };
  const auto distance = hn::ShiftRight<10>(hn::BitCast(WholeNumbers(), hn::ShiftLeft<2>(part)));
  const Real x = hn::Mul(hn::ConvertTo(d, distance), of(1.57079633f * 0x1p-22f)), square = hn::Mul(x, x);
  Real s = hn::MulAdd(square, of(2.75573192e-6f), of(-1.98412698e-4f));
  s = hn::MulAdd(s, square, of(8.33333333e-3f));
  s = hn::MulAdd(s, square, of(-1.66666667e-1f));
  s = hn::MulAdd(hn::Mul(s, square), x, x);
  Real c = hn::MulAdd(square, of(2.48015873e-5f), of(-1.38888889e-3f));
  c = hn::MulAdd(c, square, of(4.16666667e-2f));
  c = hn::MulAdd(c, square, of(-0.5f));
  c = hn::MulAdd(c, square, of(1));
  // In the highest two bits the number of the nearest quarter; its lowest bit exchanges the two.
  const auto nearest = hn::Add(part, hn::Set(bits, 1u << 29)), sign = hn::Set(bits, 1u << 31);
  const auto odd = hn::BitCast(d, hn::Add(nearest, nearest));
  const auto turned = [&](Real v, Rounds::Words quarter) {
    return hn::Xor(v, hn::BitCast(d, hn::And(quarter, sign)));
  };
  *sine = turned(hn::IfNegativeThenElse(odd, c, s), nearest);
  *cosine = turned(hn::IfNegativeThenElse(odd, s, c), hn::Add(nearest, hn::Set(bits, 1u << 30)));
}

HWY_ATTR void Normals(const Philox& philox, uint64_t first, int64_t count, Stretch<float> spread,
                      float* out) {
  const Reals d;
  const VectorMath<Reals> math{d};
  EachNumber(philox, first, count, spread, out, [&](const Rounds::Words* words, Real* numbers) {
    for (int pair = 0; pair < 4; pair += 2) {
      const auto whole = hn::BitCast(WholeNumbers(), hn::ShiftRight<8>(words[pair]));
      const Real left = hn::NegMulAdd(hn::ConvertTo(d, whole), hn::Set(d, 0x1p-24f), hn::Set(d, 1));
      const Real length = hn::Sqrt(hn::Mul(hn::Set(d, -2), math.LogOfNormal(left)));
      Real sine, cosine;
      Turn(words[pair + 1], &sine, &cosine);
      numbers[pair] = hn::Mul(length, cosine);
      numbers[pair + 1] = hn::Mul(length, sine);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();
#endif
#endif
