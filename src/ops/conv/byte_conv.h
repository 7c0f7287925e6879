// Convolutions of bytes whose result is bytes again, as static quantisation has them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ops/conv/conv.h"

namespace belay::ops {

// Input and result are packed with their channels last, of u8 or i8, and seen as [n, c, spatial...].
struct ByteConvArgs {
  ConvArgs conv;                   // without a bias, a residual and constants
  std::span<const int8_t> weight;  // [out, in / group, kernel...], less its zero point
  std::span<const float> bias;     // whole numbers of the scale of the sums; may be empty
  std::span<const float> scales;   // of the sums: one, or one for each channel of the result
  int32_t in_zero = 0, out_zero = 0;
};

// Whether the processor is quicker with bytes than with floats.
bool ConvolvesBytes();

// out = round((sum of (in - in_zero) * weight + bias) * scale) + out_zero within the result's type. Sums are
// exact, and halves are rounded to even. Throws as PlanConv does.
void PlanByteConv(Plan& plan, const ByteConvArgs& args);

// The same in plain loops, whatever the processor has.
void PlanPlainByteConv(Plan& plan, const ByteConvArgs& args);

}  // namespace belay::ops
