// Pointwise kernels that no aclnn function has in this form; graphs use them.
#pragma once

#include "ops/schema.h"

namespace belay::ops::kernels {

void GeluTanh(Plan& plan, DType compute, const Operand& self, const Operand& out);
void Softsign(Plan& plan, DType compute, const Operand& self, const Operand& out);
void HardSigmoid(Plan& plan, DType compute, const Operand& self, double alpha, double beta,
                 const Operand& out);
void Selu(Plan& plan, DType compute, const Operand& self, double alpha, double gamma, const Operand& out);
// exp(scale * x + shift), and factor * log(scale * x + shift)
void ExpOf(Plan& plan, DType compute, const Operand& self, double scale, double shift, const Operand& out);
void LogOf(Plan& plan, DType compute, const Operand& self, double scale, double shift, double factor,
           const Operand& out);
void IsNan(Plan& plan, DType compute, const Operand& self, const Operand& out);
void IsInf(Plan& plan, DType compute, const Operand& self, bool positive, bool negative, const Operand& out);
void Shrink(Plan& plan, DType compute, const Operand& self, double lambd, double bias, const Operand& out);
// Floats rounded to so many places behind the point, or before it.
void RoundTo(Plan& plan, DType compute, const Operand& self, int decimals, const Operand& out);
void Square(Plan& plan, DType compute, const Operand& self, const Operand& out);
void SquaredDifference(Plan& plan, DType compute, const Operand& self, const Operand& other,
                       const Operand& out);
// self, or other * self where it is negative, with broadcasting
void PreluOf(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out);
// A division of integers that drops the remainder; 0 where the divisor is 0.
void TruncDiv(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out);
void LeftShift(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out);
void RightShift(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out);

}  // namespace belay::ops::kernels
