// The operators that FusedPointwise runs one after the other.
#pragma once

#include <string_view>

#include "graph/ops/pointwise.h"

namespace belay::graph::translate {

// One of the two kernels; neither where the operator is not among them.
struct ChainOperator {
  std::string_view type;
  UnaryKernel unary = nullptr;
  BinaryKernel binary = nullptr;
};

// Null for others. None of these has attributes that matter, but for GeluV2, which is one of two.
const ChainOperator* FindChainOperator(const Node& node);
const ChainOperator* FindChainOperator(std::string_view type);

// The elements of a row of `shape` that a value of f32 repeats itself in: 0 where it has an element
// for each, 1 for a single one; -1 where neither it nor a row of it repeats.
int64_t RowOf(const Shape& value, const Shape& shape);

}  // namespace belay::graph::translate
