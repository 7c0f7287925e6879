// Tensors for the unit tests of kernels: memory, a layout, values that every type holds well.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ops/plan.h"
#include "ops/schema.h"

namespace belay::ops::testing {

enum class Layout { kPacked, kTransposed, kStepped, kRepeated, kOffset };

// A tensor that owns its storage and its binding's place in a plan.
struct Sample {
  Sample(DType dtype, const Shape& shape, Layout layout = Layout::kPacked);

  // Random values: whole numbers for integers, multiples of 1/8 otherwise, all of size <= range.
  Sample& Randomise(std::mt19937& rng, int range = 9);
  Sample Copied() const;
  Operand BoundTo(Plan& plan, Access access, const char* name);

  Tensor tensor;
  std::vector<char> storage;
};

inline float* Floats(const Sample& sample) { return static_cast<float*>(sample.tensor.data); }

// Runs a plan on the addresses that it was made with, with its own workspace.
void RunPlan(const Plan& plan);
PlanRef NewPlan();

// The largest |a - b| / max(1, |b|), infinite where only one of them is NaN.
double Distance(const Tensor& a, const Tensor& b);

extern const std::vector<DType> kArithmetic;

}  // namespace belay::ops::testing
