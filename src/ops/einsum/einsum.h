// Sums of products over named dimensions.
#pragma once

#include <vector>

#include "ops/schema.h"

namespace belay::ops {

// out[o...] = the sum over s... of the product of the operands, each read at the indices of its own labels.
struct LabelledSum {
  std::vector<int64_t> sizes;  // of every label: those of the result first, then the summed ones
  int result_labels = 0;
  std::vector<std::vector<int64_t>> strides;  // [operand][label] in elements; 0: the operand does not have it
};

// Operands are packed tensors of one type.
void PlanLabelledSum(Plan& plan, const OperandList& operands, const LabelledSum& sum, const Operand& out);

}  // namespace belay::ops
