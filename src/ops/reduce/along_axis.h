// Lines of tensors along one dimension: where they start, how long they are, and their steps through
// memory.
#pragma once

#include <initializer_list>

#include "ops/loop_nest.h"
#include "tensor/views.h"

namespace belay::ops {

struct Axis {
  int64_t size;
  int64_t in_step, out_step;  // bytes
};

inline int64_t SizeOf(const Tensor& t, int dim) { return t.shape.rank() == 0 ? 1 : t.shape[dim]; }

}  // namespace belay::ops
