// Convolutions of bytes less their zero points, summed exactly in i32.
#pragma once

#include "ops/conv/conv.h"

namespace belay::ops {

// Input and result lie with their channels last, the weights as they are seen; input and weights are of u8 or
// i8, the result of i32. The zero points may be absent; that of the input is one number, that of the weights
// one or one for each channel of the result. Where the weights never change, constant_weight may say so.
struct IntegerConvArgs {
  ConvArgs conv;  // without a bias, a residual and an activation
  Operand x_zero = {}, w_zero = {};
};

// What both ways to compute it read and write: bindings (-1: there is none), and how to take the bytes.
struct IntegerOperands {
  explicit IntegerOperands(const IntegerConvArgs& args);

  int input, weight, x_zero, w_zero, out;
  bool x_signed, w_signed, zero_by_channel;
};

// Pieces of so many products that another core is worth it.
int64_t IntegerGrain(int64_t products);

// Whether i32 holds every sum.
bool FitsIntegerConv(int64_t products);

// Whether turning the result would take longer than its sums of a few products each, of which a line has
// many, or a few where they are very short.
bool PaysAsIntegerPlanes(int64_t products, int64_t line);

// Throws as PlanConv does.
void PlanIntegerConv(Plan& plan, const IntegerConvArgs& args);
// The same of input and result whose channels come first.
void PlanIntegerPlanes(Plan& plan, const IntegerConvArgs& args);

}  // namespace belay::ops
