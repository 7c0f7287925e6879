// Gradients of normalisations y = (x - mean) * rstd * weight + bias, by the statistics of the forward run.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// Elements that share their statistics are a slice: `runs` runs of `length` neighbours, `run_step` elements
// apart. The slices of a block follow each other `slice_step` apart, the blocks `block_step`.
struct NormSlices {
  int64_t blocks, slices, runs, length;
  int64_t block_step, slice_step, run_step;

  int64_t count() const { return blocks * slices; }
  int64_t size() const { return runs * length; }
};

// Whom a weight belongs to, and with it its own gradient.
enum class NormWeight : uint8_t {
  kElement,  // element i of a run, whatever the slice
  kRun,      // run r of slice s in its block: s * runs + r
  kSlice,    // slice s in its block
};

struct NormGradientArgs {
  Operand grad, x;
  Operand mean, rstd;  // one element for each slice; without a mean it is 0 and not derived
  Operand weight;      // may be absent
  Operand grad_x, grad_weight, grad_bias;  // what is wanted
  NormSlices slices;
  NormWeight weight_of;
  bool constant_statistics = false;  // they do not depend on x
  // rstd holds variances, to which this is added before the root is taken; negative: it does not
  double epsilon = -1;
};

// In f32, with sums in f64 of what some elements are in f32; tensors are read and written as packed.
void PlanNormGradient(Plan& plan, const NormGradientArgs& args);

}  // namespace belay::ops
