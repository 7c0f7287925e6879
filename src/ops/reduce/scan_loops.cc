#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/scan_loops.cc"
#include "ops/reduce/scan_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_OPS_SCAN_ONCE
#define BELAY_OPS_SCAN_ONCE
namespace belay::ops {
template <class T, class Acc>
struct Steps {
  ScanStep<T, Acc> at[2][2];  // by product and exclusive
};
}  // namespace belay::ops
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

template <class T, class Acc, bool kProduct, bool kExclusive>
void Step(T* results, const T* x, Acc* acc, int64_t n) {
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {
    const Acc before = acc[i], each = static_cast<Acc>(x[i]);
    const Acc after = kProduct ? before * each : before + each;
    results[i] = static_cast<T>(kExclusive ? before : after);
    acc[i] = after;
  }
}

template <class T, class Acc>
constexpr Steps<T, Acc> kSteps = {{{&Step<T, Acc, false, false>, &Step<T, Acc, false, true>},
                                   {&Step<T, Acc, true, false>, &Step<T, Acc, true, true>}}};

const Steps<float, double>* StepsF32() { return &kSteps<float, double>; }
const Steps<double, double>* StepsF64() { return &kSteps<double, double>; }
const Steps<int32_t, uint32_t>* StepsI32() { return &kSteps<int32_t, uint32_t>; }
const Steps<int64_t, uint64_t>* StepsI64() { return &kSteps<int64_t, uint64_t>; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(StepsF32);
template <>
ScanStep<float, double> BestScanStep(bool product, bool exclusive) {
  return BELAY_SIMD_CALL(StepsF32)()->at[product][exclusive];
}
BELAY_SIMD_EXPORT(StepsF64);
template <>
ScanStep<double, double> BestScanStep(bool product, bool exclusive) {
  return BELAY_SIMD_CALL(StepsF64)()->at[product][exclusive];
}
BELAY_SIMD_EXPORT(StepsI32);
template <>
ScanStep<int32_t, uint32_t> BestScanStep(bool product, bool exclusive) {
  return BELAY_SIMD_CALL(StepsI32)()->at[product][exclusive];
}
BELAY_SIMD_EXPORT(StepsI64);
template <>
ScanStep<int64_t, uint64_t> BestScanStep(bool product, bool exclusive) {
  return BELAY_SIMD_CALL(StepsI64)()->at[product][exclusive];
}
}  // namespace belay::ops
#endif
