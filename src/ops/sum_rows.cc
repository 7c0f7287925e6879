#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sum_rows.cc"
#include "ops/sum_rows.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/some_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_ATTR void SumRows(float* out, const float* from, int64_t pitch, const WeightedPlace* places,
                      int64_t count, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    auto sum = hn::Zero(d);
    for (int64_t k = 0; k < count; ++k)
      sum = hn::MulAdd(hn::Set(d, places[k].weight), hn::LoadU(d, from + places[k].at * pitch + i), sum);
    hn::StoreU(sum, d, out + i);
  }
  if (i == n) return;
  auto sum = hn::Zero(d);
  for (int64_t k = 0; k < count; ++k) {
    const auto x = LoadSome(d, from + places[k].at * pitch + i, n - i, 0);
    sum = hn::MulAdd(hn::Set(d, places[k].weight), x, sum);
  }
  StoreSome(sum, d, out + i, n - i);
}

SumRowsLoop SumRowsHere() { return &SumRows; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(SumRowsHere);
SumRowsLoop BestSumRows() { return BELAY_SIMD_CALL(SumRowsHere)(); }
}  // namespace belay::ops
#endif
