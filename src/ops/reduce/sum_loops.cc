#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/sum_loops.cc"
#include "ops/reduce/sum_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

constexpr int kLanes = 64;

template <class T>
T Sum(const T* x, int64_t n) {
  alignas(64) T lane[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) lane[k] += x[i + k];
  }
  for (int k = 0; i < n; ++i, ++k) lane[k] += x[i];
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
  }
  return lane[0];
}

template <class T>
void AddTo(T* acc, const T* x, int64_t n) {
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) acc[i] += x[i];
}

constexpr SumLoops kLoops{&Sum<float>,   &Sum<double>,   &Sum<int64_t>,
                          &AddTo<float>, &AddTo<double>, &AddTo<int64_t>};
const SumLoops& Loops() { return kLoops; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(Loops);
const SumLoops& BestSumLoops() { return BELAY_SIMD_CALL(Loops)(); }
}  // namespace belay::ops
#endif
