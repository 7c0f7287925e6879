#include "ops/random/checks.h"

#include <cmath>

#include "base/error.h"
#include "ops/layout/checks.h"
#include "tensor/codes.h"
#include "tensor/convert.h"

namespace belay::ops {

using tensor::kInvalidArgument;

void CheckProbability(double prob) {
  if (prob >= 0 && prob <= 1) return;
  Fail(kInvalidArgument, "op-probability", "the probability is {}; it lies between 0 and 1", prob);
}

void CheckHolds(DType type, const char* name, double value) {
  uint64_t held = 0;
  double back = 0;
  tensor::Convert(type, &held, DType::kF64, &value, 1);
  tensor::Convert(DType::kF64, &back, type, &held, 1);
  if (tensor::IsFloat(type) ? std::isfinite(back) : std::fabs(back - value) < 1) return;
  Fail(kInvalidArgument, "op-random-range", "{} is {}, which {} does not hold", name, value, NameOf(type));
}

void CheckSeed(const Operand& seed) {
  CheckOne(seed);
  if (seed.dtype() == DType::kI64 || seed.dtype() == DType::kU64) return;
  Fail(kInvalidArgument, "op-dtype", "{} is {}; it is ACL_INT64 or ACL_UINT64", seed.name,
       NameOf(seed.dtype()));
}

}  // namespace belay::ops
