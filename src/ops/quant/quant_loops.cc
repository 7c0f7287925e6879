#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quant/quant_loops.cc"
#include "ops/quant/quant_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/some_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// To the nearest whole number, halves to the even one; right for sizes below 2^22, beyond which the
// range cuts off anyway or there are no fractions.
inline float Whole(float x) {
  constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23
  const bool small = x < 4194304.0f && x > -4194304.0f;
  return small ? (x + kRounder) - kRounder : x;
}

inline float Kept(float x, QuantRange range) {
  const float low = x < range.least ? range.least : x;
  return low > range.most ? range.most : low;
}

template <class T>
inline T Integer(float x) {
  if constexpr (std::is_same_v<T, float>)
    return x;
  else
    return static_cast<T>(static_cast<int32_t>(x));
}

template <class T, class Steps>
inline void QuantizeBy(Steps steps, void* to, const void* from, const float* __restrict__ scale,
                       const float* __restrict__ zero, int64_t step, int64_t n, QuantRange range) {
  auto* __restrict__ out = static_cast<T*>(to);
  const auto* __restrict__ x = static_cast<const float*>(from);
  if (step == 0) {
    const float s = *scale, z = *zero;
    for (int64_t i = 0; i < n; ++i) out[i] = Integer<T>(Kept(Whole(steps(x[i], s)) + z, range));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    out[i] = Integer<T>(Kept(Whole(steps(x[i], scale[i])) + zero[i], range));
  }
}

template <class T>
void Quantize(void* to, const void* from, const float* scale, const float* zero, int64_t step, int64_t n,
              QuantRange range) {
  QuantizeBy<T>([](float x, float s) { return x / s; }, to, from, scale, zero, step, n, range);
}

template <class T>
void Requantize(void* to, const void* from, const float* scale, const float* zero, int64_t step, int64_t n,
                QuantRange range) {
  QuantizeBy<T>([](float x, float s) { return x * s; }, to, from, scale, zero, step, n, range);
}

template <class T>
void Dequantize(void* to, const void* from, const float* __restrict__ scale, const float* __restrict__ zero,
                int64_t step, int64_t n, QuantRange) {
  auto* __restrict__ out = static_cast<float*>(to);
  const auto* __restrict__ x = static_cast<const T*>(from);
  if (step == 0) {
    const float s = *scale, z = *zero;
    for (int64_t i = 0; i < n; ++i) out[i] = (static_cast<float>(x[i]) - z) * s;
    return;
  }
  for (int64_t i = 0; i < n; ++i) out[i] = (static_cast<float>(x[i]) - zero[i]) * scale[i];
}

template <class D, class T>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const T* x) {
  if constexpr (std::is_same_v<T, float>) {
    return hn::LoadU(d, x);
  } else {
    const hn::RebindToSigned<D> whole;
    return hn::ConvertTo(d, hn::PromoteTo(whole, hn::LoadU(hn::Rebind<T, D>(), x)));
  }
}

// Rows of a few elements: what a vector writes behind the end of one is written over by the next.
template <class T>
HWY_ATTR void DequantizeRows(float* out, const void* from, const float* scale, const float* zero,
                             int64_t rows, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d)), whole = (n + lanes - 1) / lanes * lanes;
  const auto* x = static_cast<const T*>(from);
  int64_t r = 0;
  for (; (rows - r) * n >= whole; ++r, x += n, out += n) {
    const auto s = hn::Set(d, scale[r]), z = hn::Set(d, zero[r]);
    for (int64_t i = 0; i < n; i += lanes)
      hn::StoreU(hn::Mul(hn::Sub(LoadFloats(d, x + i), z), s), d, out + i);
  }
  for (; r < rows; ++r, x += n, out += n) {
    for (int64_t i = 0; i < n; ++i) out[i] = (static_cast<float>(x[i]) - zero[r]) * scale[r];
  }
}

template <class T>
void Add(void* to, const void* from_a, const void* from_b, int64_t n, QuantSum sum) {
  constexpr QuantRange kRange{std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  auto* __restrict__ out = static_cast<T*>(to);
  const auto* __restrict__ a = static_cast<const T*>(from_a);
  const auto* __restrict__ b = static_cast<const T*>(from_b);
  for (int64_t i = 0; i < n; ++i) {
    const float rest = std::fma(static_cast<float>(b[i]), sum.b, sum.rest);
    out[i] = Integer<T>(Kept(Whole(std::fma(static_cast<float>(a[i]), sum.a, rest)), kRange));
  }
}

// `first` is in it; NaN is not seen.
HWY_ATTR QuantRange RangeWith(float first, const float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int kTogether = 4;
  hn::Vec<decltype(d)> least[kTogether], most[kTogether];
  for (int k = 0; k < kTogether; ++k) least[k] = most[k] = hn::Set(d, first);
  const auto take = [&](int k, const float* at) HWY_ATTR {
    const auto v = hn::LoadU(d, at);
    least[k] = hn::IfThenElse(hn::Lt(v, least[k]), v, least[k]);
    most[k] = hn::IfThenElse(hn::Gt(v, most[k]), v, most[k]);
  };
  int64_t i = 0;
  for (; i + kTogether * lanes <= n; i += kTogether * lanes) {
    HWY_UNROLL(4)
    for (int k = 0; k < kTogether; ++k) take(k, x + i + k * lanes);
  }
  for (; i + lanes <= n; i += lanes) take(0, x + i);
  for (int k = 1; k < kTogether; ++k)
    least[0] = hn::Min(least[0], least[k]), most[0] = hn::Max(most[0], most[k]);
  QuantRange range{hn::GetLane(hn::MinOfLanes(d, least[0])), hn::GetLane(hn::MaxOfLanes(d, most[0]))};
  for (; i < n; ++i) range = {std::min(range.least, x[i]), std::max(range.most, x[i])};
  return range;
}

QuantRange RangeOf(const float* x, int64_t n) { return RangeWith(0, x, n); }
QuantRange EndsOf(const float* x, int64_t n) { return RangeWith(x[0], x, n); }

// Each vector of n elements becomes change(vector).
template <class Change>
HWY_ATTR void ChangeEach(float* x, int64_t n, const Change& change) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < n; i += lanes) StoreSome(change(LoadSome(d, x + i, n - i, 0)), d, x + i, n - i);
}

HWY_ATTR void DivideRow(float* x, float step, int64_t n) {
  if (step == 0) {
    std::fill_n(x, n, 0.0f);
    return;
  }
  const auto by = hn::Set(hn::ScalableTag<float>(), step);
  ChangeEach(x, n, [&](auto v) HWY_ATTR { return hn::Div(v, by); });
}

// NaN stays.
HWY_ATTR void RoundRow(float* x, float zero, int64_t n, QuantRange range) {
  const hn::ScalableTag<float> d;
  const auto plus = hn::Set(d, zero), least = hn::Set(d, range.least), most = hn::Set(d, range.most);
  ChangeEach(x, n, [&](auto v) HWY_ATTR {
    const auto whole = hn::Round(hn::Add(v, plus));
    const auto low = hn::IfThenElse(hn::Lt(whole, least), least, whole);
    return hn::IfThenElse(hn::Gt(low, most), most, low);
  });
}

void ScaleSums(float* __restrict__ out, const int32_t* __restrict__ sums, const float* __restrict__ scale,
               int64_t step, float row_scale, int64_t n) {
  if (step == 0) {
    const float s = *scale;
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(sums[i]) * s * row_scale;
    return;
  }
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(sums[i]) * scale[i] * row_scale;
}

void AddProducts(float* __restrict__ x, float all, const float* __restrict__ a, const float* __restrict__ b,
                 int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] += all * a[i] * b[i];
}

HWY_ATTR float SumOfRow(const float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  for (int64_t i = 0; i < n; i += lanes) sum = hn::Add(sum, LoadSome(d, x + i, n - i, 0));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

constexpr QuantLoops kQuantLoops{{&Quantize<float>, &Quantize<uint8_t>, &Quantize<int8_t>},
                                 {&Requantize<float>, &Requantize<uint8_t>, &Requantize<int8_t>},
                                 {&Dequantize<float>, &Dequantize<uint8_t>, &Dequantize<int8_t>},
                                 {&DequantizeRows<float>, &DequantizeRows<uint8_t>, &DequantizeRows<int8_t>},
                                 &Add<uint8_t>,
                                 &Add<int8_t>,
                                 &RangeOf,
                                 &EndsOf,
                                 &DivideRow,
                                 &RoundRow,
                                 &ScaleSums,
                                 &AddProducts,
                                 &SumOfRow};
const QuantLoops& QuantLoopsHere() { return kQuantLoops; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(QuantLoopsHere);
const QuantLoops& BestQuantLoops() { return BELAY_SIMD_CALL(QuantLoopsHere)(); }

ByteScale QuantizeToBytes(const float* x, int64_t n, uint8_t* out) {
  const QuantLoops& loops = BestQuantLoops();
  const QuantRange range = loops.range(x, n);
  const float scale = (range.most - range.least) / 255;
  if (scale == 0) {
    std::fill_n(out, n, uint8_t{0});
    return {0, 0};
  }
  const float zero = std::clamp(std::nearbyint(-range.least / scale), 0.0f, 255.0f);
  loops.quantize[static_cast<int>(QuantType::kU8)](out, x, &scale, &zero, 0, n, {0, 255});
  return {scale, static_cast<uint8_t>(zero)};
}
}  // namespace belay::ops
#endif
