// Pieces that the quantised operators share.
#pragma once

#include "graph/translation.h"

namespace belay::graph {

Shape ProductShape(const Translation& node, const Shape& a, const Shape& b);
// sums = a x b, all packed and i32, i64 or f64.
void ExactProduct(Translation& node, const Tensor& a, const Tensor& b, const Tensor& sums);
inline bool IsByte(DType type) { return type == DType::kU8 || type == DType::kI8; }

// The weights of a convolution or a matrix less their zero points (one, or one for each row). Empty where
// some do not fit.
std::vector<int8_t> SignedWeights(const HostTensor& weights, const HostTensor& zeros);

// A factor and its zero point: one number, or one for each row of the left factor, each column of the right
// one.
struct Integers {
  const Tensor& values;
  const Tensor* zero;  // may be null
};
// sums (i32) = left x right, less their zero points.
void IntegerProduct(Translation& node, const Integers& left, const Integers& right, const Tensor& sums);
// x - zero as i32. `zero` is one number, or one for each element along `axis` (null: nothing to subtract).
Tensor WithoutZero(Translation& node, const Tensor& x, const Tensor* zero, int axis);

}  // namespace belay::graph
