// Where the largest or least element of each of many lines is that lie side by side.
#pragma once

#include <cstdint>
#include <type_traits>

namespace belay::ops {

// As wide as an element, so that both fill vectors alike.
template <class T>
using PlaceOf = std::conditional_t<sizeof(T) == sizeof(int32_t), int32_t, int64_t>;

// `count` elements more of each of m lines, whose best ones so far and their places are there: the k-th of
// line i is x[k * step + i], and its place `first` + k. Nothing behind the m-th of either is touched.
template <class T>
struct ArgRows {
  T* best;
  PlaceOf<T>* where;
  const T* x;
  int64_t step, count, m;
  PlaceOf<T> first;
  bool nan_wins;  // otherwise anything is before NaN
};

template <class T>
using ArgLoop = void (*)(const ArgRows<T>& rows);

// Of those that are equal the last one, or the first.
template <class T>
ArgLoop<T> BestArgLoop(bool largest, bool last);
template <>
ArgLoop<float> BestArgLoop<float>(bool largest, bool last);
template <>
ArgLoop<double> BestArgLoop<double>(bool largest, bool last);
template <>
ArgLoop<int32_t> BestArgLoop<int32_t>(bool largest, bool last);
template <>
ArgLoop<int64_t> BestArgLoop<int64_t>(bool largest, bool last);

}  // namespace belay::ops
