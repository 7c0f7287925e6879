// Picking elements by index, for forms that aclnn does not have.
#pragma once

#include <vector>

#include "ops/schema.h"

namespace belay::ops {

// out = batch x between x index x behind: rows of dimension `dim`, whose first `batch_dims` dimensions
// belong to those of `index`.
void PlanGather(Plan& plan, const Operand& self, int dim, int batch_dims, const Operand& index,
                const Operand& out);

// The last dimension of `index` holds places in the dimensions after the batch.
void PlanGatherNd(Plan& plan, const Operand& self, int batch_dims, const Operand& index, const Operand& out);

// out = self[index of dimension 0, index of dimension 1, ...], with an index for each dimension, which
// broadcasts to out.
inline constexpr int kMostNaming = 3;
void PlanPick(Plan& plan, const Operand& self, const std::vector<const Operand*>& indices,
              const Operand& out);

Shape GatheredShape(const Shape& self, int dim, int batch_dims, const Shape& index);

}  // namespace belay::ops
