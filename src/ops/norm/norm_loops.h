// The arithmetic of normalisation on packed rows.
#pragma once

#include <cstdint>

namespace belay::ops {

// How the moments of a row become a factor, and from what mean on they need more digits.
struct RowRule {
  double share;  // of an element in a mean
  double epsilon;
  bool epsilon_outside;
  bool centred;             // on the mean; otherwise on zero
  double far;               // squares of means, in variances
  bool of_sizes = false;    // the variance is the mean of sizes, and has no root
  bool zero_stays = false;  // the factor of a row of zeros is 0
};

struct RowMoments {
  double mean, variance;
  float factor;
};

template <class T>
struct NormLoops {
  // y = (x - shift) * factor * weight + bias; weight and bias may be null
  void (*apply)(T* y, const T* x, const T* weight, const T* bias, T shift, T factor, int64_t n);
  // y = (x - shift) * factor + bias, each with an element of its own
  void (*change)(T* y, const T* x, const T* shift, const T* factor, const T* bias, int64_t n);
  // The same of rows of n elements that follow each other, an element of each for a row.
  void (*change_rows)(T* y, const T* x, const T* shift, const T* factor, const T* bias, int64_t rows,
                      int64_t n);
  // y = x * factor + shift
  void (*scale)(T* y, const T* x, T factor, T shift, int64_t n);
  void (*add)(T* sum, const T* x, int64_t n);
  void (*add_squares)(T* sum, const T* x, int64_t n);
  void (*add_sizes)(T* sum, const T* x, int64_t n);
  // The sums of x - shift and of its squares.
  void (*deviations)(const T* x, T shift, int64_t n, double* sum, double* squares);
  // A short row by its own moments, in one turn; weight and bias may be null. Null for doubles.
  void (*row)(T* y, const T* x, const T* weight, const T* bias, int64_t n, const RowRule& rule,
              RowMoments* found);
  // The same with one weight and one bias for the whole row.
  void (*row_of_channel)(T* y, const T* x, T weight, T bias, int64_t n, const RowRule& rule,
                         RowMoments* found);
};

template <class T>
const NormLoops<T>& BestNormLoops();
template <>
const NormLoops<float>& BestNormLoops();
template <>
const NormLoops<double>& BestNormLoops();

}  // namespace belay::ops
