#include "ops/gradient/checks.h"

#include "base/error.h"
#include "ops/layout/checks.h"
#include "tensor/codes.h"

namespace belay::ops {

void SelectResults(std::span<const uint8_t> mask, std::span<Operand> results) {
  CheckLength("outputMask", static_cast<int64_t>(mask.size()), static_cast<int64_t>(results.size()));
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) {
      results[i] = {};
    } else if (!results[i].present()) {
      Fail(tensor::kNullArgument, "op-masked-result", "outputMask[{}] is true, but {} is null", i,
           results[i].name);
    }
  }
}

Operand AskedFor(bool asked, const Operand& result) {
  if (!asked) return {};
  if (result.present()) return result;
  Fail(tensor::kNullArgument, "op-masked-result", "{} is null; the call asks for it", result.name);
}

LossReduction LossReductionOf(int64_t reduction) {
  constexpr LossReduction kByNumber[] = {LossReduction::kNone, LossReduction::kMean, LossReduction::kSum};
  if (reduction < 0 || reduction > 2) {
    Fail(tensor::kInvalidArgument, "op-loss-reduction",
         "reduction is {}; it is 0 (none), 1 (mean) or 2 (sum)", reduction);
  }
  return kByNumber[reduction];
}

}  // namespace belay::ops
