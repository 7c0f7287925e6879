// Operators that work on one element of each operand at a time: what their loops look like, and how a
// plan runs one. A loop sees packed arrays of one compute type; types, strides and broadcasting are
// the pipeline's business.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "ops/schema.h"

namespace belay::ops {

// The attributes of a call, converted once when the plan is made.
struct LoopAttributes {
  double real[3] = {}, imaginary[3] = {};
  int64_t integer[3] = {};

  LoopAttributes() = default;
  explicit LoopAttributes(std::initializer_list<double> values);
  explicit LoopAttributes(std::initializer_list<const Scalar*> values);

  template <class T>
  T As(int k) const {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(real[k]);
    } else {
      return static_cast<T>(integer[k]);
    }
  }
};

inline constexpr int kMostInputs = 3;

// n elements; the result may be one of the operands, element for element.
using PointwiseLoop = void (*)(void* out, const void* const* in, const LoopAttributes& attributes, int64_t n);

// By compute type; u64 has those of i64 where it may differ. Null: the operator has no such type.
struct PointwiseLoops {
  PointwiseLoop f32 = nullptr, f64 = nullptr, i32 = nullptr, i64 = nullptr, u64 = nullptr;
  // For u8, i8 and truth values, where all operands are such; otherwise they go by way of i32.
  PointwiseLoop u8 = nullptr, i8 = nullptr, truth = nullptr;
  // The results are bytes 0 and 1, whatever is computed (but of c64, whose results are of that type).
  bool gives_truths = false;
  PointwiseLoop c64 = nullptr;
  // Of f32 where the first of two operands is one value for all elements, or each but the first.
  PointwiseLoop f32_of_first = nullptr, f32_of_rest = nullptr;
};

// Operands broadcast to `out`; they are converted to `compute`, and so is the result before it is
// stored. Throws Error when there is no loop for the type.
void PlanPointwise(Plan& plan, const PointwiseLoops& loops, DType compute, std::initializer_list<Operand> in,
                   const LoopAttributes& attributes, const Operand& out);

// The type of a function's result that is no integer: these are computed in f32.
constexpr DType FloatTypeOf(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF64:
    case DType::kF16:
    case DType::kBF16:
    case DType::kC64:
      return type;
    default:
      return DType::kF32;
  }
}

}  // namespace belay::ops
