// Elementwise operators of two operands: what binary.cc's loops look like, and how a plan runs one.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/kernels.h"
#include "ops/schema.h"

namespace belay::ops {

// The attributes of a call, converted once when the plan is made.
struct BinaryAttributes {
  double real = 1;
  int64_t integer = 1;

  template <class T>
  T Alpha() const {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(real);
    } else {
      return static_cast<T>(integer);
    }
  }
};

// n packed elements of one compute type.
using BinaryLoop = void (*)(void* out, const void* left, const void* right,
                            const BinaryAttributes& attributes, int64_t n);

struct BinaryLoops {
  BinaryLoop f32, f64, i32, i64;
};

// alpha: null where the operator has none.
void PlanBinary(Plan& plan, const BinaryLoops& loops, DType compute, const Operand& self,
                const Operand& other, const Scalar* alpha, const Operand& out);

}  // namespace belay::ops
