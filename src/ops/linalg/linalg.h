// Matrices and rows as wholes, computed in f64.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// Throws Error 161002 unless there are matrices, as high as wide.
void CheckSquare(const Operand& self);
// Determinants of [..., m, m]; both are packed and f32.
void PlanDeterminant(Plan& plan, const Operand& x, const Operand& out);
// Inverses of [..., m, m]. Throws Error while it runs when a matrix has none.
void PlanInverse(Plan& plan, const Operand& x, const Operand& out);
// The signs of the determinants of [..., m, m], and the logarithms of their sizes.
void PlanLogDeterminant(Plan& plan, const Operand& x, const Operand& sign, const Operand& logarithm);
// The p-norms of the differences of the rows of [n, size], each with those after it.
void PlanPairDistances(Plan& plan, const Operand& x, double p, const Operand& out);
// Of each row of x1 [.., rows, size] and each of x2 [.., others, size], whose batches broadcast.
void PlanDistances(Plan& plan, const Operand& x1, const Operand& x2, double p, const Operand& out);

// All [.., rows, others, width], repeated so that they have one shape, packed and f32; out [.., rows, width].
struct DistanceGradientArgs {
  Operand g, x1, x2, distance;
  double p;  // of the norm; infinite: the largest
};
void PlanDistanceGradient(Plan& plan, const DistanceGradientArgs& args, const Operand& out);

}  // namespace belay::ops
