// Sums of packed elements. Floats are added in 64 lanes and the lanes pairwise, in an order that
// does not depend on the processor, so the error grows with the logarithm of the count and every
// machine gives the same number.
#pragma once

#include <cstdint>

namespace belay::ops {

struct SumLoops {
  float (*f32)(const float* x, int64_t n);
  double (*f64)(const double* x, int64_t n);
  int64_t (*i64)(const int64_t* x, int64_t n);
  // acc[i] += x[i]
  void (*add_f32)(float* acc, const float* x, int64_t n);
  void (*add_f64)(double* acc, const double* x, int64_t n);
  void (*add_i64)(int64_t* acc, const int64_t* x, int64_t n);
};

const SumLoops& BestSumLoops();

}  // namespace belay::ops
