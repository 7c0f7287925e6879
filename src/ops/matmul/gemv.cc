#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/gemv.cc"
#include "ops/matmul/gemv.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Four rows at a time share what is loaded of x.
void FourRows(const float* w, int64_t ld, const float* x, int64_t columns, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  int64_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    const auto v = hn::LoadU(d, x + j);
    a = hn::MulAdd(hn::LoadU(d, w + j), v, a);
    b = hn::MulAdd(hn::LoadU(d, w + ld + j), v, b);
    c = hn::MulAdd(hn::LoadU(d, w + 2 * ld + j), v, c);
    e = hn::MulAdd(hn::LoadU(d, w + 3 * ld + j), v, e);
  }
  float sums[4] = {hn::GetLane(hn::SumOfLanes(d, a)), hn::GetLane(hn::SumOfLanes(d, b)),
                   hn::GetLane(hn::SumOfLanes(d, c)), hn::GetLane(hn::SumOfLanes(d, e))};
  for (; j < columns; ++j) {
    for (int r = 0; r < 4; ++r) sums[r] += w[r * ld + j] * x[j];
  }
  for (int r = 0; r < 4; ++r) y[r] = sums[r];
}

void Gemv(const float* w, int64_t ld, const float* x, int64_t columns, int64_t rows, float* y) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) FourRows(w + i * ld, ld, x, columns, y + i);
  for (; i < rows; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += w[i * ld + j] * x[j];
    y[i] = sum;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(Gemv);
GemvLoop BestGemv() { return BELAY_SIMD_CALL(Gemv); }
}  // namespace belay::ops
#endif
