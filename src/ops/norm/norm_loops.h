// The arithmetic of normalisation on packed rows.
#pragma once

#include <cstdint>

namespace belay::ops {

template <class T>
struct NormLoops {
  // y = (x - shift) * factor * weight + bias; weight and bias may be null
  void (*apply)(T* y, const T* x, const T* weight, const T* bias, T shift, T factor, int64_t n);
  // y = x * factor + shift
  void (*scale)(T* y, const T* x, T factor, T shift, int64_t n);
  void (*add_squares)(T* sum, const T* x, int64_t n);
  // The sums of x - shift and of its squares.
  void (*deviations)(const T* x, T shift, int64_t n, double* sum, double* squares);
};

template <class T>
const NormLoops<T>& BestNormLoops();
template <>
const NormLoops<float>& BestNormLoops();
template <>
const NormLoops<double>& BestNormLoops();

}  // namespace belay::ops
