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

// All [.., rows, others, width], repeated so that they have one shape, packed and f32; out [.., rows, width].
struct DistanceGradientArgs {
  Operand g, x1, x2, distance;
  double p;  // of the norm; infinite: the largest
};
void PlanDistanceGradient(Plan& plan, const DistanceGradientArgs& args, const Operand& out);

}  // namespace belay::ops
