// One step of running sums or products that lie side by side.
#pragma once

#include <cstdint>

namespace belay::ops {

// acc[i] takes x[i] in; results[i] is what acc[i] was before, or is then. results may lie on x.
template <class T, class Acc>
using ScanStep = void (*)(T* results, const T* x, Acc* acc, int64_t n);

template <class T, class Acc>
ScanStep<T, Acc> BestScanStep(bool product, bool exclusive);
template <>
ScanStep<float, double> BestScanStep(bool product, bool exclusive);
template <>
ScanStep<double, double> BestScanStep(bool product, bool exclusive);
template <>
ScanStep<int32_t, uint32_t> BestScanStep(bool product, bool exclusive);
template <>
ScanStep<int64_t, uint64_t> BestScanStep(bool product, bool exclusive);

}  // namespace belay::ops
