// kRowsTurned packed rows, with an element of each in a vector, and back. Included once per instruction set.
#include "hwy/highway.h"
#include "ops/layout/square.h"
#include "ops/norm/turned_rows.h"

#if defined(BELAY_OPS_NORM_TURN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_OPS_NORM_TURN_INL_H_
#undef BELAY_OPS_NORM_TURN_INL_H_
#else
#define BELAY_OPS_NORM_TURN_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::CappedTag<float, kRowsTurned>;
using Floats = hn::Vec<Lanes>;
constexpr auto kWidth = static_cast<int64_t>(hn::MaxLanes(Lanes()));

// One element of each row.
using Column = float[kRowsTurned];

HWY_ATTR inline void TurnIn(Column* columns, const float* x, int64_t n) {
  const Lanes d;
  Floats a, b, c;
  for (int64_t at = 0; n < 4 && at < kRowsTurned; at += kWidth) {
    if (n == 1) a = hn::LoadU(d, x + at);
    if (n == 2) hn::LoadInterleaved2(d, x + 2 * at, a, b), hn::Store(b, d, columns[1] + at);
    if (n == 3) {
      hn::LoadInterleaved3(d, x + 3 * at, a, b, c);
      hn::Store(b, d, columns[1] + at), hn::Store(c, d, columns[2] + at);
    }
    hn::Store(a, d, columns[0] + at);
  }
  if (n < 4) return;
  const auto bytes = static_cast<int64_t>(sizeof(float));
  TurnBySquares<float>(reinterpret_cast<const char*>(x), n * bytes, reinterpret_cast<char*>(columns),
                       sizeof(Column), kRowsTurned, n);
}

HWY_ATTR inline void TurnBack(float* y, const Column* columns, int64_t n) {
  const Lanes d;
  for (int64_t at = 0; n < 4 && at < kRowsTurned; at += kWidth) {
    const auto a = hn::Load(d, columns[0] + at);
    if (n == 1) hn::StoreU(a, d, y + at);
    if (n == 2) hn::StoreInterleaved2(a, hn::Load(d, columns[1] + at), d, y + 2 * at);
    if (n == 3) {
      hn::StoreInterleaved3(a, hn::Load(d, columns[1] + at), hn::Load(d, columns[2] + at), d, y + 3 * at);
    }
  }
  if (n < 4) return;
  const auto bytes = static_cast<int64_t>(sizeof(float));
  TurnBySquares<float>(reinterpret_cast<const char*>(columns), sizeof(Column), reinterpret_cast<char*>(y),
                       n * bytes, n, kRowsTurned);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();
#endif
