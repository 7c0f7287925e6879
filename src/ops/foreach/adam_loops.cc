#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/foreach/adam_loops.cc"
#include "ops/foreach/adam_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/some_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Each operation is rounded by itself, so that all instruction sets agree.
void MoveByAdam(const AdamStep& step, float* x, float* mean, float* square, float* most,
                const float* gradient, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto sign = hn::Set(d, step.sign), rest1 = hn::Set(d, step.rest1), kept2 = hn::Set(d, step.kept2),
             rest2 = hn::Set(d, step.rest2), epsilon = hn::Set(d, step.epsilon), size = hn::Set(d, step.size),
             root = hn::Set(d, step.root), kept = hn::Set(d, step.kept);
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t left = n - i;
    const auto g = hn::Mul(sign, LoadSome(d, gradient + i, left, 0.0f));
    auto m = LoadSome(d, mean + i, left, 0.0f), v = LoadSome(d, square + i, left, 0.0f);
    m = hn::Add(m, hn::Mul(rest1, hn::Sub(g, m)));
    v = hn::Add(hn::Mul(kept2, v), hn::Mul(hn::Mul(rest2, g), g));
    StoreSome(m, d, mean + i, left);
    StoreSome(v, d, square + i, left);
    if (most != nullptr) {
      const auto before = LoadSome(d, most + i, left, 0.0f);
      v = hn::IfThenElse(hn::Lt(before, v), v, before);
      StoreSome(v, d, most + i, left);
    }
    const auto by = hn::Add(hn::Div(hn::Sqrt(v), root), epsilon);
    const auto kept_x = hn::Mul(LoadSome(d, x + i, left, 0.0f), kept);
    StoreSome(hn::Sub(kept_x, hn::Mul(size, hn::Div(m, by))), d, x + i, left);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(MoveByAdam);

void AdamStep::Run(float* x, float* mean, float* square, float* most, const float* gradient,
                   int64_t n) const {
  BELAY_SIMD_CALL(MoveByAdam)(*this, x, mean, square, most, gradient, n);
}
}  // namespace belay::ops
#endif
