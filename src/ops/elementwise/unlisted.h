// Pointwise kernels that no aclnn function has in this form; graphs and lists of tensors use them.
#pragma once

#include "ops/schema.h"

namespace belay::ops::kernels {

void GeluTanh(Plan& plan, DType compute, const Operand& self, const Operand& out);
// exp(scale * x + shift), and factor * log(scale * x + shift)
void ExpOf(Plan& plan, DType compute, const Operand& self, double scale, double shift, const Operand& out);
void LogOf(Plan& plan, DType compute, const Operand& self, double scale, double shift, double factor,
           const Operand& out);
// self, or other * self where it is negative, with broadcasting
void PreluOf(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out);
// self + other, and self - other
void Plus(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out);
void Minus(Plan& plan, DType compute, const Operand& self, const Operand& other, const Operand& out);

}  // namespace belay::ops::kernels
