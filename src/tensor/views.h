// Parts of tensors and packed stand-ins for them, as kernels that walk over views need them.
#pragma once

#include "tensor/objects.h"

namespace belay::tensor {

// A packed tensor without an address.
Tensor PackedOf(DType dtype, const Shape& shape);

// Dimensions [first, end) of a view, at its own offset 0.
Tensor DimsOf(const Tensor& t, int first, int end);

// All dimensions but one, at the view's offset.
Tensor WithoutDim(const Tensor& t, int dim);

// One half of a dimension of even size: the first (0) or the second (1).
Tensor HalfOf(const Tensor& t, int dim, int64_t half);

// The view over a larger shape that it broadcasts to.
Tensor Expanded(const Tensor& t, const Shape& to);

// The real parts (0) or the imaginary ones (1) of a tensor of ACL_COMPLEX64 or ACL_COMPLEX128.
Tensor PartsOf(const Tensor& t, int part);

// In bytes: where a view begins in its storage, and what is between two neighbours of a dimension.
int64_t OffsetOf(const Tensor& t);
int64_t StepOf(const Tensor& t, int dim);

}  // namespace belay::tensor
