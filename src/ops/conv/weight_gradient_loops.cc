#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/conv/weight_gradient_loops.cc"
#include "ops/conv/weight_gradient_loops.h"

#include <algorithm>

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Few = hn::CappedTag<float, kGradientLanes>;
constexpr int kFew = static_cast<int>(hn::MaxLanes(Few()));
// Vectors of sums that stay in registers, beside those that are multiplied.
constexpr int kSums = HWY_TARGET <= HWY_AVX3 ? 16 : 8;

// The sums of some positions, which floats hold well enough, join those of all.
template <int kVectors>
HWY_INLINE void JoinSums(const hn::Vec<Few> (&sums)[kVectors], bool first, double* to) {
  alignas(64) float some[kVectors * kFew];
  for (int v = 0; v < kVectors; ++v) hn::Store(sums[v], Few(), some + v * kFew);
  for (int i = 0; i < kVectors * kFew; ++i) to[i] = (first ? 0 : to[i]) + static_cast<double>(some[i]);
}

template <int kRows, int kVectors>
HWY_INLINE void AddRows(const TapRows& seen, const float* pixels, const float* grad, double* sums) {
  constexpr int kWidth = kVectors * kFew;
  const Few d;
  hn::Vec<Few> sum[kRows][kVectors];
  for (auto& row : sum) std::fill(row, row + kVectors, hn::Zero(d));
  for (const TapRow* row = seen.rows; row != seen.rows + seen.count; ++row) {
    const float* x = pixels + row->pixel * kWidth;
    const float* g = grad + row->position * kGradientRows;
    for (int64_t i = 0; i < row->count; ++i, x += seen.step * kWidth, g += kGradientRows) {
      hn::Vec<Few> seen_here[kVectors];
      for (int v = 0; v < kVectors; ++v) seen_here[v] = hn::LoadU(d, x + v * kFew);
      for (int r = 0; r < kRows; ++r) {
        const auto by = hn::Set(d, g[r]);
        for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(by, seen_here[v], sum[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) JoinSums(sum[r], seen.first, sums + r * kWidth);
}

template <int kVectors>
HWY_INLINE void AddPanel(const TapRows& seen, const float* pixels, const float* grad, double* sums) {
  constexpr int kRows = std::clamp<int>(kSums / kVectors, 1, kGradientRows);
  for (int r = 0; r < kGradientRows; r += kRows)
    AddRows<kRows, kVectors>(seen, pixels, grad + r, sums + r * kVectors * kFew);
}

void AddOuter(const TapRows& seen, const float* pixels, const float* grad, int64_t panel, double* sums) {
  panel == kGradientPanel ? AddPanel<kGradientPanel / kFew>(seen, pixels, grad, sums)
                          : AddPanel<kGradientLanes / kFew>(seen, pixels, grad, sums);
}

// kPanel is of a pixel: kGradientLanes or 1. kApart neighbours of a row have sums of their own, since an
// addition has to wait for the one before.
template <int64_t kPanel, int kTaps, int kApart>
HWY_INLINE void AddTaps(const TapRows& seen, const float* pixels, const float* grad, const int64_t* taps,
                        double* sums) {
  constexpr int kVectors = kGradientLanes / kFew;
  const Few d;
  hn::Vec<Few> sum[kApart][kTaps][kVectors];
  int64_t at[kTaps];
  for (int t = 0; t < kTaps; ++t) {
    at[t] = taps[t] * kPanel;
    for (auto& apart : sum) std::fill(apart[t], apart[t] + kVectors, hn::Zero(d));
  }
  const auto add = [&](const float* x, const float* g, auto& to) HWY_ATTR {
    for (int v = 0; v < kVectors; ++v) {
      const auto by = hn::LoadU(d, g + v * kFew);
      for (int t = 0; t < kTaps; ++t) {
        const auto pixel = kPanel == 1 ? hn::Set(d, x[at[t]]) : hn::LoadU(d, x + at[t] + v * kFew);
        to[t][v] = hn::MulAdd(by, pixel, to[t][v]);
      }
    }
  };
  const int64_t step = seen.step * kPanel;
  for (const TapRow* row = seen.rows; row != seen.rows + seen.count; ++row) {
    const float* x = pixels + row->pixel * kPanel;
    const float* g = grad + row->position * kGradientLanes;
    int64_t i = 0;
    for (; i + kApart <= row->count; i += kApart, x += kApart * step, g += kApart * kGradientLanes) {
      for (int a = 0; a < kApart; ++a) add(x + a * step, g + a * kGradientLanes, sum[a]);
    }
    for (; i < row->count; ++i, x += step, g += kGradientLanes) add(x, g, sum[0]);
  }
  for (int t = 0; t < kTaps; ++t) {
    for (int a = 0; a < kApart; ++a) JoinSums(sum[a][t], seen.first && a == 0, sums + t * kGradientLanes);
  }
}

template <int64_t kPanel>
void AddAllTaps(const TapRows& seen, const float* pixels, const float* grad, const int64_t* taps,
                int64_t count, double* sums) {
  constexpr int kMost = kSums / (kGradientLanes / kFew) >= 9 ? 9 : 4;
  int64_t t = 0;
  for (; t + kMost <= count; t += kMost)
    AddTaps<kPanel, kMost, 1>(seen, pixels, grad, taps + t, sums + t * kGradientLanes);
  for (; t + 3 <= count; t += 3)
    AddTaps<kPanel, 3, 2>(seen, pixels, grad, taps + t, sums + t * kGradientLanes);
  for (; t < count; ++t) AddTaps<kPanel, 1, 4>(seen, pixels, grad, taps + t, sums + t * kGradientLanes);
}

void AddLanes(const TapRows& seen, const float* pixels, int64_t panel, const float* grad, const int64_t* taps,
              int64_t count, double* sums) {
  panel == 1 ? AddAllTaps<1>(seen, pixels, grad, taps, count, sums)
             : AddAllTaps<kGradientLanes>(seen, pixels, grad, taps, count, sums);
}

// A BFLOAT16 number is the upper half of the float that it is.
void PairUp(float* values, int64_t count, int64_t step) {
  const hn::RebindToUnsigned<Few> d;
  auto* bits = reinterpret_cast<uint32_t*>(values);
  const auto upper = hn::Set(d, 0xffff0000u);
  int64_t i = 0;
  for (; i + kFew <= count - step; i += kFew) {
    const auto first = hn::ShiftRight<16>(hn::LoadU(d, bits + i));
    hn::StoreU(hn::Or(first, hn::And(hn::LoadU(d, bits + i + step), upper)), d, bits + i);
  }
  for (; i < count; ++i) bits[i] = bits[i] >> 16 | (i < count - step ? bits[i + step] & 0xffff0000u : 0u);
}

// What is written ends where what is still to be read begins, or before.
void PairHalves(float* values, int64_t count, int64_t step) {
  const hn::RebindToUnsigned<Few> d;
  const hn::Rebind<uint16_t, Few> halves;
  auto* bits = reinterpret_cast<uint32_t*>(values);
  const uint16_t* from = reinterpret_cast<const uint16_t*>(values) + count;
  int64_t i = 0;
  for (; i + kFew <= count - step; i += kFew) {
    const auto first = hn::PromoteTo(d, hn::LoadU(halves, from + i));
    const auto second = hn::PromoteTo(d, hn::LoadU(halves, from + i + step));
    hn::StoreU(hn::Or(first, hn::ShiftLeft<16>(second)), d, bits + i);
  }
  for (; i < count; ++i) {
    const uint32_t second = i < count - step ? from[i + step] : 0u;
    bits[i] = from[i] | second << 16;
  }
}

bool AllFinite(const float* values, int64_t count) {
  const Few d;
  auto probe = hn::Zero(d);  // an infinity or NaN less itself is NaN
  for (int64_t i = 0; i < count; i += kFew) {
    const auto v = hn::LoadU(d, values + i);
    probe = hn::Add(probe, hn::Sub(v, v));
  }
  return hn::AllTrue(d, hn::Eq(probe, hn::Zero(d)));
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(AddOuter);
BELAY_SIMD_EXPORT(AddLanes);
BELAY_SIMD_EXPORT(AllFinite);
BELAY_SIMD_EXPORT(PairUp);
BELAY_SIMD_EXPORT(PairHalves);

WeightGradientLoops BestWeightGradientLoops(bool bf16) {
  WeightGradientLoops loops{BELAY_SIMD_CALL(AddOuter), BELAY_SIMD_CALL(AddLanes), BELAY_SIMD_CALL(AllFinite),
                            BELAY_SIMD_CALL(PairUp), BELAY_SIMD_CALL(PairHalves)};
  if (bf16) TakePairs(loops);
  return loops;
}
}  // namespace belay::ops
#endif
