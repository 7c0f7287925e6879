// From numbers to small integers and back. Everything here is packed, and f32 but for integers of 8 bits; the
// others are converted around it.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

enum class QuantStep {
  kQuantize,    // round(x / scale) + zero
  kRequantize,  // round(x * scale) + zero
  kDequantize,  // (x - zero) * scale
};

struct QuantArgs {
  QuantStep step;
  Operand x, scale, zero, out;  // zero may be absent
  // Scale and zero are one number each, or (axis >= 0) one for each element along the axis, or
  // (block > 0) one for each `block` elements along it, the other dimensions being as those of x.
  int axis = -1;
  int64_t block = 0;
  double least = 0, most = 0;  // the result is kept within, unless it is dequantised
};
void PlanQuant(Plan& plan, const QuantArgs& args);

// u8 values that cover what x holds, 0 included, and the scale and zero point that they mean.
void PlanDynamicQuant(Plan& plan, const Operand& x, const Operand& y, const Operand& scale,
                      const Operand& zero);

}  // namespace belay::ops
