// Writing to places that indices name, for forms that aclnn does not have.
#pragma once

#include "ops/index/combine.h"
#include "ops/schema.h"

namespace belay::ops {

// out = self, and then out[..., index[i], ...] combined with source[i] along `dim`, one by one in order.
void PlanScatterElements(Plan& plan, const Operand& self, int64_t dim, const Operand& index,
                         const Operand& source, Combination how, const Operand& out);

// out = self, and then the blocks that the last dimension of `index` names combined with those of updates.
void PlanScatterNd(Plan& plan, const Operand& self, const Operand& index, const Operand& updates,
                   Combination how, const Operand& out);

// out = self, and then rows index[i] of `dim` combined with rows i of source times factor.
void PlanScatterRows(Plan& plan, const Operand& self, int64_t dim, const Operand& index,
                     const Operand& source, Combination how, double factor, const Operand& out);

// out = on where index says and off elsewhere; `axis` is the dimension of out that has `depth` elements.
void PlanOneHot(Plan& plan, const Operand& index, int axis, const Operand& on, const Operand& off,
                const Operand& out);

}  // namespace belay::ops
