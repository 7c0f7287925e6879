// x[:, i, j, :]: elements that tensors of indices, broadcast to one another, name together.
#pragma once

#include <vector>

#include "ops/index/combine.h"
#include "ops/schema.h"

namespace belay::ops {

// The shapes of the indices of the dimensions of x, from the first on; null for one that has none.
using IndexShapes = std::vector<const Shape*>;

// The shape of x[indices]: that of the indices stands where the dimensions that have one stood if those are
// neighbours, and in front otherwise. Throws Error.
Shape IndexedShape(const Shape& x, const IndexShapes& indices);

// out = x[indices], with an operand for each of the first dimensions, absent where the dimension has no
// index.
void PlanIndex(Plan& plan, const Operand& x, const OperandList& indices, const Operand& out);
// out = x with the elements of x[indices] combined with those of `values`, which broadcasts to them.
void PlanIndexPut(Plan& plan, const Operand& x, const OperandList& indices, const Operand& values,
                  Combination how, const Operand& out);

}  // namespace belay::ops
