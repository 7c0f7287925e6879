#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm/turned_rows.cc"
#include "ops/norm/turned_rows.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/norm/turn-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The sums of of(element) over the rows that a vector has.
template <class Of>
HWY_INLINE Floats SumsOf(const Column* columns, int64_t at, int64_t n, const Of& of) {
  const Lanes d;
  auto even = hn::Zero(d), odd = hn::Zero(d);
  int64_t k = 0;
  for (; k + 2 <= n; k += 2) {
    even = hn::Add(even, of(hn::Load(d, columns[k] + at)));
    odd = hn::Add(odd, of(hn::Load(d, columns[k + 1] + at)));
  }
  if (k < n) even = hn::Add(even, of(hn::Load(d, columns[k] + at)));
  return hn::Add(even, odd);
}

struct Found {
  Floats mean, rest;  // together: the second has the digits that the first lacks where it is far from zero
  Floats variance, factor;
};

HWY_INLINE Floats FactorsOf(Floats variance, const RowRule& rule) {
  const Lanes d;
  const auto one = hn::Set(d, 1.0f);
  const auto epsilon = hn::Set(d, static_cast<float>(rule.epsilon));
  auto root = variance;
  if (!rule.of_sizes) {
    root = rule.epsilon_outside ? hn::Add(hn::Sqrt(variance), epsilon) : hn::Sqrt(hn::Add(variance, epsilon));
  }
  const auto factor = hn::Div(one, root);
  return rule.zero_stays ? hn::IfThenZeroElse(hn::Eq(variance, hn::Zero(d)), factor) : factor;
}

HWY_ATTR Found Find(const Column* columns, int64_t at, int64_t n, const RowRule& rule) {
  const Lanes d;
  const auto share = hn::Set(d, static_cast<float>(rule.share));
  Found found{hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  if (rule.of_sizes) {
    found.variance = hn::Mul(SumsOf(columns, at, n, [](Floats v) HWY_ATTR { return hn::Abs(v); }), share);
  } else if (!rule.centred) {
    found.variance = hn::Mul(SumsOf(columns, at, n, [](Floats v) HWY_ATTR { return hn::Mul(v, v); }), share);
  } else {
    const auto mean = hn::Mul(SumsOf(columns, at, n, [](Floats v) HWY_ATTR { return v; }), share);
    const auto off = [mean](Floats v) HWY_ATTR { return hn::Sub(v, mean); };
    const auto rest = hn::Mul(SumsOf(columns, at, n, off), share);
    const auto square = [mean, rest](Floats v) HWY_ATTR {
      const auto from_mean = hn::Sub(hn::Sub(v, mean), rest);
      return hn::Mul(from_mean, from_mean);
    };
    found.mean = mean, found.rest = rest;
    found.variance = hn::Mul(SumsOf(columns, at, n, square), share);
  }
  found.factor = FactorsOf(found.variance, rule);
  return found;
}

HWY_ATTR void Change(Column* columns, int64_t at, int64_t n, const Found& found, const RowWeights& weights) {
  const Lanes d;
  const auto* weight = weights.weight;
  const auto* bias = weights.bias;
  if (weights.by_row || (weight == nullptr && bias == nullptr)) {
    const auto scale = weight == nullptr ? hn::Set(d, 1.0f) : hn::LoadU(d, weight + at);
    const auto shift = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + at);
    for (int64_t k = 0; k < n; ++k) {
      float* to = columns[k] + at;
      const auto value = hn::Mul(hn::Sub(hn::Sub(hn::Load(d, to), found.mean), found.rest), found.factor);
      hn::Store(hn::MulAdd(value, scale, shift), d, to);
    }
    return;
  }
  for (int64_t k = 0; k < n; ++k) {
    float* to = columns[k] + at;
    auto value = hn::Mul(hn::Sub(hn::Sub(hn::Load(d, to), found.mean), found.rest), found.factor);
    if (weight != nullptr) value = hn::Mul(value, hn::Set(d, weight[k]));
    if (bias != nullptr) value = hn::Add(value, hn::Set(d, bias[k]));
    hn::Store(value, d, to);
  }
}

HWY_ATTR void Tell(RowMoments* moments, const Found& found) {
  const Lanes d;
  alignas(64) float mean[kWidth], rest[kWidth], variance[kWidth], factor[kWidth];
  hn::Store(found.mean, d, mean), hn::Store(found.rest, d, rest);
  hn::Store(found.variance, d, variance), hn::Store(found.factor, d, factor);
  for (int64_t r = 0; r < kWidth; ++r) {
    moments[r] = {static_cast<double>(mean[r]) + static_cast<double>(rest[r]),
                  static_cast<double>(variance[r]), factor[r]};
  }
}

HWY_ATTR void Turned(float* y, const float* x, const RowWeights& weights, int64_t n, const RowRule& rule,
                     RowMoments* moments) {
  alignas(64) Column columns[kMostTurned];
  TurnIn(columns, x, n);
  for (int64_t at = 0; at < kRowsTurned; at += kWidth) {
    const Found found = Find(columns, at, n, rule);
    Change(columns, at, n, found, weights);
    if (moments != nullptr) Tell(moments + at, found);
  }
  TurnBack(y, columns, n);
}

TurnedRows TurnedRowsOf() { return &Turned; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(TurnedRowsOf);
TurnedRows BestTurnedRows() { return BELAY_SIMD_CALL(TurnedRowsOf)(); }
}  // namespace belay::ops
#endif
