// Matrices and rows as wholes. Tensors are packed, and f64 unless said otherwise.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// Determinants of [..., m, m], f32.
void PlanDeterminant(Plan& plan, const Operand& x, const Operand& out);
// Inverses of [..., m, m]. Throws Error while it runs when a matrix has none.
void PlanInverse(Plan& plan, const Operand& x, const Operand& out);
// The signs of the determinants of [..., m, m], and the logarithms of their sizes.
void PlanLogDeterminant(Plan& plan, const Operand& x, const Operand& sign, const Operand& logarithm);
// The p-norms of the differences of the rows of [n, size], each with those after it.
void PlanPairDistances(Plan& plan, const Operand& x, double p, const Operand& out);

}  // namespace belay::ops
