// Kernels of packed rows of FLOAT on rows of FLOAT16 or BFLOAT16: some rows at a time are widened, computed
// and rounded while they lie in a near cache. What all rows read is widened once a run.
#pragma once

#include <functional>
#include <span>

#include "ops/schema.h"

namespace belay::ops {

struct HalfRows {
  Operand x, out;  // packed, both of one type and of as many elements
  std::span<const Operand>
      beside;               // packed, each of as many dimensions as the kernel takes; some may be absent
  int64_t row = 1;          // elements
  int64_t together = 4096;  // elements, about: more where a call of the kernel costs more
  std::span<const Operand> told =
      {};  // packed, a number of any type for each row: what the kernel finds of it
};

// Whether the tensors are such.
bool AreHalfRows(const Tensor& x, const Tensor& out);

// Plans the kernel for x of [rows, row], what is beside, and told of [rows], all FLOAT.
using PlanFloatRows = std::function<void(Plan& plan, const Operand& x, std::span<const Operand> beside,
                                         const Operand& out, std::span<const Operand> told)>;
void PlanHalfRows(Plan& plan, const HalfRows& rows, const PlanFloatRows& kernel);

}  // namespace belay::ops
