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

// out = round(fma(a, ra, fma(b, rb, rest))), where ra and rb are the scales as steps of the result and rest
// is what the zero points come to: rounded once, with the zero point of the result already added, as
// onnxruntime does on the processors of today. a, b and out are packed bytes of one type and shape.
struct QuantSumArgs {
  float a_scale, a_zero, b_scale, b_zero, scale, zero;
  Operand a = {}, b = {}, out = {};
};
void PlanQuantSum(Plan& plan, const QuantSumArgs& args);

// u8 values that cover what x holds, 0 included, and the scale and zero point that they mean.
void PlanDynamicQuant(Plan& plan, const Operand& x, const Operand& y, const Operand& scale,
                      const Operand& zero);

}  // namespace belay::ops
