#include "ops/index/masked_scatter.h"

#include <cstring>

#include "base/error.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

struct MaskedScatterBody {
  int x, mask, updates, out;
  int64_t count, available;
  size_t bytes;

  void operator()(const Frame& frame) const {
    const char* chosen = frame.at[mask];
    const char* next = frame.at[updates];
    char* to = frame.at[out];
    std::memmove(to, frame.at[x], static_cast<size_t>(count) * bytes);
    int64_t used = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (chosen[i] == 0) continue;
      if (used++ == available)
        Fail(tensor::kRuntimeFailure, "masked-scatter-few", "the mask chooses more than the {} updates",
             available);
      std::memcpy(to + static_cast<size_t>(i) * bytes, next, bytes);
      next += bytes;
    }
  }
};

}  // namespace

void PlanMaskedScatter(Plan& plan, const Operand& x, const Operand& mask, const Operand& updates,
                       const Operand& out) {
  plan.SetBody(MaskedScatterBody{x.binding, mask.binding, updates.binding, out.binding, x.tensor->count(),
                                 updates.tensor->count(), BytesOf(x.dtype())});
}

}  // namespace belay::ops
