// Lines of tensors along one dimension: where they start, how long they are, and their steps through
// memory.
#pragma once

#include <initializer_list>

#include "ops/loop_nest.h"

namespace belay::ops {

struct Axis {
  int64_t size;
  int64_t in_step, out_step;  // bytes
};

// The tensor without the dimension, or with only what is kept of it where it has size one already.
inline Tensor WithoutDim(const Tensor& t, int dim) {
  Tensor rest;
  rest.dtype = t.dtype;
  rest.offset = t.offset;
  for (int i = 0; i < t.shape.rank(); ++i) {
    if (i == dim) continue;
    rest.shape.push_back(t.shape[i]);
    rest.strides.push_back(t.strides[i]);
  }
  return rest;
}

inline int64_t StepOf(const Tensor& t, int dim) {
  return t.shape.rank() == 0 ? 0 : t.strides[dim] * static_cast<int64_t>(BytesOf(t.dtype));
}

inline int64_t SizeOf(const Tensor& t, int dim) { return t.shape.rank() == 0 ? 1 : t.shape[dim]; }

}  // namespace belay::ops
