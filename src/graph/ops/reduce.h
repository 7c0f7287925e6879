// Folding dimensions away, as steps of other operators.
#pragma once

#include <vector>

#include "graph/translation.h"
#include "ops/reduce/reduce.h"

namespace belay::graph::translate {

// A bit for each of these dimensions of the first input.
uint32_t MaskOf(const Translation& node, const std::vector<int64_t>& axes, bool none_is_all);
// What is left of the shape; what is folded stays as 1, or not at all.
Shape Left(const Shape& shape, uint32_t mask, bool keep);
void RunReduce(Translation& node, const ops::Reduction& how, DType compute, uint32_t mask, const Tensor& x,
               const Tensor& out);

}  // namespace belay::graph::translate
