// Products of matrices of types that no backend takes: complex numbers, INT32 and INT64, by plain loops.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

bool IsGeneralProduct(DType type);

// out = beta * self + alpha * (mat1 x mat2): batches broadcast, vectors are rows and columns as for Matmul.
// self may be absent, and is not read where beta is 0; a null factor is 1. All are of one type; integers
// wrap.
struct GeneralProductArgs {
  Operand self, mat1, mat2, out;
  const Scalar *beta, *alpha;
};
void PlanGeneralProduct(Plan& plan, const GeneralProductArgs& args);

}  // namespace belay::ops
