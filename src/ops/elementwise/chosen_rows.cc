#include "ops/elementwise/chosen_rows.h"

#include "ops/layout/moves.h"
#include "ops/loop_nest.h"

namespace belay::ops {
namespace {

// The side that it chooses is copied, and the other is not read.
struct ChosenRows {
  LoopNest nest;  // out, condition, self, other
  int64_t bytes;
  int bindings[4];

  bool fits() const {
    constexpr int64_t kLongRow = 64;  // elements
    const auto along = [this](int k) { return nest.step(k) == bytes || nest.step(k) == 0; };
    return nest.row() >= kLongRow && nest.step(0) == bytes && nest.step(1) == 0 && along(2) && along(3);
  }

  void operator()(const Frame& frame) const {
    char* base[4];
    for (int k = 0; k < 4; ++k) base[k] = frame.at[bindings[k]] + nest.offset(k);
    nest.WalkAll(
        base,
        [this](char** at, int64_t n) {
          const int chosen = *at[1] != 0 ? 2 : 3;
          if (at[chosen] != at[0]) MoveRow(at[0], bytes, at[chosen], nest.step(chosen), n, bytes);
        },
        [] {});
  }
};

}  // namespace

bool PlanChosenRows(Plan& plan, const Operand& condition, const Operand& self, const Operand& other,
                    const Operand& out) {
  const DType type = out.dtype();
  const bool tensors = condition.scalar == nullptr && self.scalar == nullptr && other.scalar == nullptr;
  if (!tensors || out.tensor->empty() || type == DType::kBool || BytesOf(type) > 8) return false;
  if (condition.dtype() != DType::kBool || self.dtype() != type || other.dtype() != type) return false;
  for (const Operand* operand : {&condition, &self, &other}) {
    if (!BroadcastsTo(operand->shape(), out.shape())) return false;
  }
  const ChosenRows body{LoopNest(out.tensor->shape, {out, condition, self, other}),
                        static_cast<int64_t>(BytesOf(type)),
                        {out.binding, condition.binding, self.binding, other.binding}};
  if (!body.fits()) return false;
  plan.SetCost(20 + static_cast<uint64_t>(body.nest.count()) / 4);
  plan.SetBody(body);
  return true;
}

}  // namespace belay::ops
