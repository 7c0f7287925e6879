// Products of packed matrices of f64, and of integers, which wrap.
#pragma once

#include <cstdint>

namespace belay::ops {

// out[rows][n] = a[rows][k] x b[k][n]; rows and k may be 0.
template <class T>
using ExactProduct = void (*)(const T* a, const T* b, T* out, int64_t rows, int64_t n, int64_t k);

template <class T>
ExactProduct<T> BestExactProduct();
template <>
ExactProduct<double> BestExactProduct();
template <>
ExactProduct<uint32_t> BestExactProduct();
template <>
ExactProduct<uint64_t> BestExactProduct();

}  // namespace belay::ops
