#include "tensor/views.h"

namespace belay::tensor {

Tensor PackedOf(DType dtype, const Shape& shape) {
  Tensor packed;
  packed.dtype = dtype;
  packed.shape = shape;
  packed.strides = PackedStrides(shape);
  packed.storage_count = packed.count();
  return packed;
}

Tensor DimsOf(const Tensor& t, int first, int end) {
  Tensor part;
  part.dtype = t.dtype;
  for (int d = first; d < end; ++d) {
    part.shape.push_back(t.shape[d]);
    part.strides.push_back(t.strides[d]);
  }
  return part;
}

Tensor WithoutDim(const Tensor& t, int dim) {
  Tensor rest;
  rest.dtype = t.dtype;
  rest.offset = t.offset;
  for (int d = 0; d < t.shape.rank(); ++d) {
    if (d == dim) continue;
    rest.shape.push_back(t.shape[d]);
    rest.strides.push_back(t.strides[d]);
  }
  return rest;
}

Tensor HalfOf(const Tensor& t, int dim, int64_t half) {
  Tensor view = t;
  view.shape[dim] /= 2;
  view.offset += half * view.shape[dim] * view.strides[dim];
  return view;
}

Tensor Expanded(const Tensor& t, const Shape& to) {
  Tensor view = t;
  view.strides = BroadcastStrides(t.shape, t.strides, to);
  view.shape = to;
  return view;
}

Tensor PartsOf(const Tensor& t, int part) {
  Tensor parts = t;
  parts.dtype = t.dtype == DType::kC128 ? DType::kF64 : t.dtype == DType::kC32 ? DType::kF16 : DType::kF32;
  for (int d = 0; d < parts.shape.rank(); ++d) parts.strides[d] *= 2;
  parts.offset = 2 * t.offset + part;
  return parts;
}

int64_t OffsetOf(const Tensor& t) { return t.offset * static_cast<int64_t>(BytesOf(t.dtype)); }

int64_t StepOf(const Tensor& t, int dim) {
  return t.shape.rank() == 0 ? 0 : t.strides[dim] * static_cast<int64_t>(BytesOf(t.dtype));
}

}  // namespace belay::tensor
