#include "ops/pool/unpool.h"

#include <cstring>

namespace belay::ops {
namespace {

struct UnpoolBody {
  int x, places, out;
  Shape natural, shape;
  tensor::Strides strides;
  int64_t count;
  size_t element;

  void operator()(const Frame& frame) const {
    char* to = frame.at[out];
    std::memset(to, 0, static_cast<size_t>(CountOf(shape)) * element);
    const auto* at = reinterpret_cast<const int64_t*>(frame.at[places]);
    const int64_t limit = CountOf(natural);
    for (int64_t i = 0; i < count; ++i) {
      if (at[i] < 0 || at[i] >= limit) continue;
      int64_t rest = at[i], place = 0;
      bool inside = true;
      for (int d = natural.rank() - 1; d >= 0; --d) {
        const int64_t index = rest % natural[d];
        rest /= natural[d];
        inside = inside && index < shape[d];
        place += index * strides[d];
      }
      if (!inside) continue;
      std::memcpy(to + static_cast<size_t>(place) * element, frame.at[x] + static_cast<size_t>(i) * element,
                  element);
    }
  }
};

}  // namespace

void PlanUnpool(Plan& plan, const Operand& x, const Operand& places, const Shape& natural,
                const Operand& out) {
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()));
  plan.SetBody(UnpoolBody{x.binding, places.binding, out.binding, natural, out.shape(),
                          PackedStrides(out.shape()), x.tensor->count(), BytesOf(x.dtype())});
}

}  // namespace belay::ops
