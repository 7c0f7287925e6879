// A product with weights that usually never change, and what follows it:
// out = activation(x * weight^T + bias + residual). It is a convolution with a kernel of one, so the
// weights are packed ahead and the rows are shared by the cores in the same way.
#pragma once

#include <optional>

#include "ops/conv/activation.h"
#include "ops/conv/weight_layout.h"
#include "ops/schema.h"

namespace belay::ops {

struct LinearArgs {
  Operand x, weight, bias, residual, out;  // [..., k], [n, k] with any strides, [n], out's, [..., n]
  Activation activation = {};
  const void* constant_weight = nullptr;  // the elements, where they never change
  const void* constant_bias = nullptr;
  const PackedWeights* packed_weight = nullptr;  // instead of constant_weight
  bool bf16 = false;                             // as for a convolution
};

// The constant weights as a plan with these arguments would pack them; nothing where it would not.
std::optional<PackedWeights> PackLinearWeights(const LinearArgs& args);

// x, out and residual are packed.
void PlanLinear(Plan& plan, const LinearArgs& args);

// self and alpha * (mat1 x mat2) added up: out = beta * self + alpha * (mat1 x mat2) + more, batches
// included.
struct AddProductArgs {
  Operand self, mat1, mat2, out;  // self may be absent; it broadcasts to out
  double beta = 1, alpha = 1;
  int64_t math_type = 0;
  Operand more = {};  // may be absent, too; has the shape of out
};
void PlanAddProduct(Plan& plan, const AddProductArgs& args);

}  // namespace belay::ops
