// Running sums and products: a step of lines that lie side by side, or whole lines that lie as they are
// computed.
#pragma once

#include <cstdint>

namespace belay::ops {

// Elements from one to the next, of results and of x: along a line, and from line to line.
struct ScanWay {
  int64_t along[2], across[2];
};

template <class T, class Acc>
struct ScanLoops {
  // acc[i] takes x[i] in; results[i] is what acc[i] was before, or is then. results may lie on x. So many
  // rows of n, one after the other as `way` says.
  void (*steps)(T* results, const T* x, Acc* acc, const ScanWay& way, int64_t rows, int64_t n);
  // n lines of `size` elements. Null where there are no vectors.
  void (*lines)(T* results, const T* x, const ScanWay& way, int64_t size, int64_t n);
  // The same of lines that lie side by side.
  void (*columns)(T* results, const T* x, const ScanWay& way, int64_t size, int64_t n);
};

template <class T, class Acc>
const ScanLoops<T, Acc>& BestScanLoops(bool product, bool exclusive);
template <>
const ScanLoops<float, double>& BestScanLoops(bool product, bool exclusive);
template <>
const ScanLoops<double, double>& BestScanLoops(bool product, bool exclusive);
template <>
const ScanLoops<int32_t, uint32_t>& BestScanLoops(bool product, bool exclusive);
template <>
const ScanLoops<int64_t, uint64_t>& BestScanLoops(bool product, bool exclusive);

}  // namespace belay::ops
