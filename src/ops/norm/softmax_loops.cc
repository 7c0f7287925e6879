#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm/softmax_loops.cc"
#include "ops/norm/softmax_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"
#include "ops/norm/turn-inl.h"
#include "ops/some_lanes-inl.h"

#ifndef BELAY_OPS_SOFTMAX_ONCE
#define BELAY_OPS_SOFTMAX_ONCE
#include <algorithm>
#include <cmath>
#include <limits>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// e^x for x <= 0, to about one unit in the last place; 0 below the normal numbers, NaN for NaN.
// x = n ln 2 + r with n whole and |r| <= (ln 2) / 2. Adding 1.5 * 2^23 rounds to a whole number and
// leaves it in the low bits of the sum, with the bias of an exponent, of which a shift makes 2^n. ln 2 comes
// in two parts, the first of so few bits that n times it is exact. e^r is a polynomial through the Chebyshev
// points of its interval (relative error 1e-8).
template <class D, class V>
HWY_INLINE HWY_ATTR V ExpOfNegative(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto rounder = hn::Set(d, 12582912.0f + 127.0f);  // 1.5 * 2^23 and a float's bias
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), rounder);
  const auto n = hn::Sub(shifted, rounder);
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860682e-6f), r);
  auto p = hn::MulAdd(hn::Set(d, 1.39261761e-3f), r, hn::Set(d, 8.36317307e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.16665547e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.66665770e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33654f)), hn::Mul(p, power));  // a NaN is not less
}

HWY_ATTR float MaxF32(const float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const auto least = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto a = least, b = least;
  int64_t i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {
    a = hn::Max(a, hn::LoadU(d, x + i));
    b = hn::Max(b, hn::LoadU(d, x + i + step));
  }
  for (; i < n; i += step) a = hn::Max(a, LoadSome(d, x + i, n - i, hn::GetLane(least)));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
}

template <bool kKept>
HWY_ATTR float ExpSumOfPiece([[maybe_unused]] float* out, const float* x, float most, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const auto shift = hn::Set(d, most);
  auto sum_a = hn::Zero(d), sum_b = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {
    const auto a = ExpOfNegative(d, hn::Sub(hn::LoadU(d, x + i), shift));
    const auto b = ExpOfNegative(d, hn::Sub(hn::LoadU(d, x + i + step), shift));
    sum_a = hn::Add(sum_a, a);
    sum_b = hn::Add(sum_b, b);
    if constexpr (kKept) hn::StoreU(a, d, out + i), hn::StoreU(b, d, out + i + step);
  }
  for (; i < n; i += step) {  // behind the end e^-inf, which is 0
    const auto a = hn::Sub(LoadSome(d, x + i, n - i, -std::numeric_limits<float>::infinity()), shift);
    const auto power = ExpOfNegative(d, a);
    sum_a = hn::Add(sum_a, power);
    if constexpr (kKept) StoreSome(power, d, out + i, n - i);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum_a, sum_b)));
}

// In pieces, whose sums are added in f64: the error of a row does not grow with its length.
float ExpSumF32(float* out, const float* x, float most, int64_t n) {
  constexpr int64_t kPiece = 1024;
  const auto piece = [&](int64_t i, int64_t m) {
    return out == nullptr ? ExpSumOfPiece<false>(nullptr, x + i, most, m)
                          : ExpSumOfPiece<true>(out + i, x + i, most, m);
  };
  if (n <= kPiece) return piece(0, n);
  double sum = 0;
  for (int64_t i = 0; i < n; i += kPiece) sum += static_cast<double>(piece(i, std::min(kPiece, n - i)));
  return static_cast<float>(sum);
}

HWY_ATTR void ExpAddF32(float* out, float* sum, const float* x, const float* most, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    const auto v = ExpOfNegative(d, hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, most + i)));
    hn::StoreU(v, d, out + i);
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), v), d, sum + i);
  }
  if (i == n) return;
  const int64_t rest = n - i;
  const auto lowered = hn::Sub(LoadSome(d, x + i, rest, 0), LoadSome(d, most + i, rest, 0));
  const auto v = ExpOfNegative(d, lowered);
  StoreSome(v, d, out + i, rest);
  StoreSome(hn::Add(LoadSome(d, sum + i, rest, 0), v), d, sum + i, rest);
}

// A row is one vector.
HWY_ATTR void ShortRows(float* out, int64_t out_step, const float* x, int64_t step, int64_t rows, int64_t n,
                        bool logarithm) {
  const hn::ScalableTag<float> d;
  for (int64_t row = 0; row < rows; ++row, x += step, out += out_step) {
    const auto values = LoadSome(d, x, n, -std::numeric_limits<float>::infinity());
    const auto lowered = hn::Sub(values, hn::MaxOfLanes(d, values));
    const auto powers = ExpOfNegative(d, lowered);
    const auto sum = hn::SumOfLanes(d, powers);
    const auto result = logarithm ? hn::Sub(lowered, hn::Set(d, Log(hn::GetLane(sum))))
                                  : hn::Mul(powers, hn::Set(d, 1 / hn::GetLane(sum)));
    StoreSome(result, d, out, n);
  }
}
constexpr int64_t kMostShort = hn::MaxLanes(hn::ScalableTag<float>());

// One of `lines` that lie side by side in kRowsTurned blocks; a vector has an element of each block.
HWY_ATTR void SoftmaxOfLine(Column* columns, int64_t n, int64_t lines, bool logarithm) {
  const Lanes d;
  alignas(64) Column powers[kMostTurned];
  for (int64_t at = 0; at < kRowsTurned; at += kWidth) {
    auto most = hn::Load(d, columns[0] + at), sum = hn::Zero(d);
    for (int64_t k = 1; k < n; ++k) most = hn::Max(most, hn::Load(d, columns[k * lines] + at));
    for (int64_t k = 0; k < n; ++k) {
      const auto lowered = hn::Sub(hn::Load(d, columns[k * lines] + at), most);
      const auto power = ExpOfNegative(d, lowered);
      sum = hn::Add(sum, power);
      hn::Store(power, d, powers[k] + at);
      if (logarithm) hn::Store(lowered, d, columns[k * lines] + at);
    }
    alignas(64) float logs[kRowsTurned];
    hn::Store(sum, d, logs);
    for (int64_t i = 0; logarithm && i < kWidth; ++i) logs[i] = Log(logs[i]);
    const auto log = hn::Load(d, logs), factor = hn::Div(hn::Set(d, 1), sum);
    for (int64_t k = 0; logarithm && k < n; ++k)
      hn::Store(hn::Sub(hn::Load(d, columns[k * lines] + at), log), d, columns[k * lines] + at);
    for (int64_t k = 0; !logarithm && k < n; ++k)
      hn::Store(hn::Mul(hn::Load(d, powers[k] + at), factor), d, columns[k * lines] + at);
  }
}

HWY_ATTR void SoftmaxTurned(float* out, const float* x, int64_t n, int64_t lines, bool logarithm) {
  alignas(64) Column columns[kMostTurned];
  TurnIn(columns, x, n * lines);
  for (int64_t line = 0; line < lines; ++line) SoftmaxOfLine(columns + line, n, lines, logarithm);
  TurnBack(out, columns, n * lines);
}

void PackedBlocks(float* out, const float* x, int64_t blocks, int64_t n, int64_t lines, bool logarithm) {
  const int64_t size = n * lines;
  for (; blocks >= kRowsTurned; blocks -= kRowsTurned, x += kRowsTurned * size, out += kRowsTurned * size) {
    SoftmaxTurned(out, x, n, lines, logarithm);
  }
  if (blocks == 0) return;
  alignas(64) float rest[kRowsTurned * kMostTurned] = {};
  std::copy_n(x, blocks * size, rest);
  SoftmaxTurned(rest, rest, n, lines, logarithm);
  std::copy_n(rest, blocks * size, out);
}

double MaxF64(const double* x, int64_t n) {
  double most = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}
double ExpSumF64(double* out, const double* x, double most, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double power = std::exp(x[i] - most);
    if (out != nullptr) out[i] = power;
    sum += power;
  }
  return sum;
}
void ExpAddF64(double* out, double* sum, const double* x, const double* most, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += out[i] = std::exp(x[i] - most[i]);
}

template <class T>
void Scale(T* out, T factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] *= factor;
}
template <class T>
void MaxOf(T* most, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) most[i] = x[i] > most[i] ? x[i] : most[i];
}
template <class T>
void ScaleBy(T* out, const T* factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] *= factor[i];
}

template <class T>
void Lower(T* out, const T* x, T most, T log, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - most) - log;
}
template <class T>
void LowerBy(T* out, const T* x, const T* most, const T* log, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - most[i]) - log[i];
}

template <class T>
void Logs(T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = Log(x[i]);
}
template <class T>
void Inverses(T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = 1 / x[i];
}

constexpr SoftmaxLoops<float> kLoopsF32{&MaxF32,      &ExpSumF32,       &Scale<float>, &MaxOf<float>,
                                        &ExpAddF32,   &ScaleBy<float>,  &Lower<float>, &LowerBy<float>,
                                        &Logs<float>, &Inverses<float>, &ShortRows,    kMostShort,
                                        &PackedBlocks};
constexpr SoftmaxLoops<double> kLoopsF64{&MaxF64,       &ExpSumF64,        &Scale<double>, &MaxOf<double>,
                                         &ExpAddF64,    &ScaleBy<double>,  &Lower<double>, &LowerBy<double>,
                                         &Logs<double>, &Inverses<double>, nullptr,        0,
                                         nullptr};
const SoftmaxLoops<float>& LoopsF32() { return kLoopsF32; }
const SoftmaxLoops<double>& LoopsF64() { return kLoopsF64; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(LoopsF32);
BELAY_SIMD_EXPORT(LoopsF64);
const SoftmaxLoops<float>& BestSoftmaxLoopsF32() { return BELAY_SIMD_CALL(LoopsF32)(); }
const SoftmaxLoops<double>& BestSoftmaxLoopsF64() { return BELAY_SIMD_CALL(LoopsF64)(); }
}  // namespace belay::ops
#endif
