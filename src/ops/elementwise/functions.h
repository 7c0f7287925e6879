// Functions of f32 that are computed as vectors, in f64 or as closely: the error is that of the last
// rounding. Quotients of i32 are exact there.
#pragma once

#include <cstdint>

#include "ops/elementwise/pointwise.h"

namespace belay::ops {

enum class Function : uint8_t {
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kPow,
  kTruncDiv,
  kFloorDiv,
  kRemainder,
  kFmod,
  kFloatRemainder,
  kFloatFmod,
  kPowI32,
  kPowI64,
  kPowU64,
  kLeftShift,
  kLeftShiftI64,
  kLeftShiftU64,
  kLeftShiftU8,
  kRightShift,
  kRightShiftI64,
  kRightShiftU64,
  kRightShiftU8
};

// The loop over f32; from kTruncDiv to kFmod, and of shifts, over i32, and of the types that the names tell.
// What is too far from 0 to be reduced, and what is special, goes to the C library.
PointwiseLoop BestFunctionLoop(Function function);

}  // namespace belay::ops
