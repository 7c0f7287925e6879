// The slow and plain twin of every kernel, for tests: one element at a time, in long double, with
// roundings where the documentation has them and nowhere else. Shares no code with the kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/objects.h"

namespace belay::ops::reference {

using tensor::DType;
using tensor::Scalar;
using tensor::Shape;
using tensor::Tensor;

using Real = long double;

// The value that an element of `type` gets: rounded to nearest even, integers modulo 2^n.
Real Rounded(Real value, DType type);
// The same for a value that an element of `from` holds: floats saturate in integers.
Real Converted(Real value, DType from, DType to);

// An element at a multi-index. Sizes of one in the tensor repeat, as do missing leading dimensions.
Real Get(const Tensor& tensor, const Shape& index);
void Set(const Tensor& tensor, const Shape& index, Real value);
Real ValueOf(const Scalar& scalar);

// Calls visit for each index of a shape, the last dimension fastest.
void ForEach(const Shape& shape, const std::function<void(const Shape&)>& visit);

// out = f(self, other), all rounded to `promoted` first and the result before it is stored. A null
// tensor stands for the scalar value.
using Binary = std::function<Real(Real self, Real other)>;
void Elementwise(const Binary& f, DType promoted, const Tensor& self, const Tensor* other, Real other_value,
                 const Tensor& out);
void Copy(const Tensor& src, const Tensor& out);
void Fill(Real value, const Tensor& out);

// Batches broadcast; one-dimensional operands as torch.matmul has it. `round`: inputs first become
// f16.
void Matmul(const Tensor& self, const Tensor& mat2, const Tensor& out, bool round);
// Sum over the dimensions (all when empty) of self rounded to `type`.
void Sum(const Tensor& self, std::vector<int64_t> dims, bool keep, DType type, const Tensor& out);
void Softmax(const Tensor& self, int64_t dim, const Tensor& out);

}  // namespace belay::ops::reference
