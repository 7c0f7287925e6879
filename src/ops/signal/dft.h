// Discrete Fourier transforms, as plans.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// x is [outer, n, inner, 1 or 2], out [outer, bins, inner, 2]; both packed and of one type, f32 or f64. Lines
// of x are cut or filled up with zeros to `length`. A forward transform has exp(-2 pi i jk / length); an
// inverse one is divided by the length. The first `bins` results are kept.
struct DftArgs {
  Operand x, out;
  int64_t outer, inner, length;
  bool inverse = false;
};
void PlanDft(Plan& plan, const DftArgs& args);

}  // namespace belay::ops
