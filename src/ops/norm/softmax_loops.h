// The arithmetic of softmax on packed rows.
#pragma once

#include <cstdint>

namespace belay::ops {

template <class T>
struct SoftmaxLoops {
  T (*max)(const T* x, int64_t n);                      // -inf of nothing; any of x where one is NaN
  T (*exp_sum)(T* out, const T* x, T most, int64_t n);  // out = exp(x - most), or null; their sum
  void (*scale)(T* out, T factor, int64_t n);
  // The same for rows side by side: element i of each array belongs to row i.
  void (*max_of)(T* most, const T* x, int64_t n);
  void (*exp_add)(T* out, T* sum, const T* x, const T* most, int64_t n);
  void (*scale_by)(T* out, const T* factor, int64_t n);
  // Of logarithms: out = x - most - log, which is one number, or one for each row.
  void (*lower)(T* out, const T* x, T most, T log, int64_t n);
  void (*lower_by)(T* out, const T* x, const T* most, const T* log, int64_t n);
  // Of each x, which is its place, too.
  void (*logs)(T* x, int64_t n);
  void (*inverses)(T* x, int64_t n);
  // The whole, for rows of at most `most_short` elements, whose first ones lie `step`s apart. 0: there is no
  // such.
  void (*short_rows)(T* out, int64_t out_step, const T* x, int64_t step, int64_t rows, int64_t n,
                     bool logarithm);
  int64_t most_short;
  // The same for packed blocks of n x lines elements, at most kMostTurned, many of them one behind the other:
  // along the first dimension of each. May be null.
  void (*packed_blocks)(T* out, const T* x, int64_t blocks, int64_t n, int64_t lines, bool logarithm);
};

const SoftmaxLoops<float>& BestSoftmaxLoopsF32();
const SoftmaxLoops<double>& BestSoftmaxLoopsF64();

}  // namespace belay::ops
