// Convolutions as plans.
#pragma once

#include <optional>
#include <span>

#include "ops/conv/activation.h"
#include "ops/conv/conv_backend.h"
#include "ops/conv/weight_layout.h"
#include "ops/schema.h"

namespace belay::ops {

// Tensors have the dimensions [n, c, spatial...] and weights [out, in / group, kernel...] (transposed:
// [in, out / group, kernel...]); how they lie in memory is in their strides. Channels last is read
// and written as it is, other layouts are converted around the work.
struct ConvArgs {
  Operand input, weight, bias, residual, out;                  // bias and residual may be absent
  std::span<const int64_t> strides, dilations, before, after;  // one for each spatial dimension
  int64_t groups = 1;
  bool transposed = false;
  // How many rows of the result of a transposed convolution lie behind what its taps reach, where that may be
  // a stride or more; in its gradients they are rows of the input.
  std::span<const int64_t> output_padding = {};
  Activation activation = {};
  // The elements of the weights or the bias where they never change: what can be done with them is
  // done now, and they need no binding.
  const void* constant_weight = nullptr;
  const void* constant_bias = nullptr;
  const PackedWeights* packed_weight = nullptr;  // instead of constant_weight
  bool exact = false;  // every product is added up as it is: whole numbers give whole numbers
  bool bf16 = false;   // f32 may be rounded to bf16 before it is multiplied, where that is faster
};

// Whether input and weights are of BFLOAT16, and the processor multiplies it.
bool MultipliesHalves(const ConvArgs& args);

// Throws Error 161002 when the shapes do not fit together.
void PlanConv(Plan& plan, const ConvArgs& args);

// The sizes that the arguments stand for; throws the same.
ConvGeometry CheckedGeometry(const ConvArgs& args);

// Constant weights as a plan with these arguments would pack them; nothing where it would not, or where
// they can only be packed where they are used.
std::optional<PackedWeights> PackConvWeights(const ConvArgs& args);

// The size of one dimension of the result.
int64_t ConvOutputSize(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t before,
                       int64_t after);

}  // namespace belay::ops
