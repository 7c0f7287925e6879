// Folding packed elements into one. Floats are folded in 64 lanes and the lanes pairwise, in an order
// that does not depend on the processor, so the error of a sum grows with the logarithm of the count and
// every machine gives the same number.
#pragma once

#include <cstdint>

namespace belay::ops {

enum class Fold : uint8_t {
  kSum,
  kSumOfSizes,    // |x|
  kSumOfSquares,  // (x - p)^2
  kSumOfPowers,   // |x|^p
  kSumOfExps,     // exp(x - p)
  kCount,         // of what is not zero
  kProduct,
  kMax,
  kMin,
  kMaxOfSizes,
  kMinOfSizes,
  kSumOfNumbers,  // of what is not NaN
};
inline constexpr int kFolds = 12;

// What becomes of n elements before they are folded, with a parameter p.
template <class T>
using Elements = void (*)(T* to, const T* x, int64_t n, T p);

template <class T>
struct FoldLoops {
  T start;               // folded with anything gives that
  Elements<T> elements;  // null: as they are
  T (*row)(const T* x, int64_t n, Elements<T> elements, T p);
  void (*rows)(T* out, const T* x, int64_t rows, int64_t n, Elements<T> elements, const T* p);
  // Of what is folded already.
  void (*merge_into)(T* acc, const T* x, int64_t n);
  // Rows one after the other, `step` elements apart.
  void (*merge_rows)(T* acc, const T* x, int64_t step, int64_t rows, int64_t n);
  // The columns of packed matrices of `rows` rows of n.
  void (*merge_matrices)(T* out, const T* x, int64_t count, int64_t rows, int64_t n);
  T (*merge)(T a, T b);

  T fold(const T* x, int64_t n, T p) const { return n == 0 ? start : row(x, n, elements, p); }
  // Packed rows of n, each to what fold makes of it, with a p for each.
  void fold_rows(T* out, const T* x, int64_t count, int64_t n, const T* p) const {
    rows(out, x, count, n, elements, p);
  }
};

template <class T>
const FoldLoops<T>& BestFoldLoops(Fold fold);
template <>
const FoldLoops<float>& BestFoldLoops(Fold fold);
template <>
const FoldLoops<double>& BestFoldLoops(Fold fold);
template <>
const FoldLoops<int32_t>& BestFoldLoops(Fold fold);  // kSum, kProduct, kMax and kMin only
template <>
const FoldLoops<int64_t>& BestFoldLoops(Fold fold);

}  // namespace belay::ops
