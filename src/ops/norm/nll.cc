#include "ops/norm/nll.h"

#include "base/error.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

struct NllBody {
  int x, target, weight, out, total;
  int64_t count, classes, rest;
  LossReduction reduction;
  int64_t ignored;

  void operator()(const Frame& frame) const {
    const auto* classes_of = reinterpret_cast<const int64_t*>(frame.at[target]);
    auto* to = reinterpret_cast<float*>(frame.at[out]);
    double losses = 0, weights = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t chosen = classes_of[i];
      if (chosen != ignored && (chosen < 0 || chosen >= classes)) {
        Fail(tensor::kRuntimeFailure, "nll-class", "target {} is {}; there are {} classes", i, chosen,
             classes);
      }
      const double share = chosen == ignored ? 0
                           : weight < 0      ? 1
                                             : reinterpret_cast<const float*>(frame.at[weight])[chosen];
      const double loss = chosen == ignored ? 0 : -share * At(frame, i, chosen);
      if (reduction == LossReduction::kNone) to[i] = static_cast<float>(loss);
      losses += loss, weights += share;
    }
    if (reduction == LossReduction::kSum) *to = static_cast<float>(losses);
    if (reduction == LossReduction::kMean) *to = static_cast<float>(losses / weights);
    if (total >= 0) *reinterpret_cast<float*>(frame.at[total]) = static_cast<float>(weights);
  }

  double At(const Frame& frame, int64_t i, int64_t chosen) const {
    return reinterpret_cast<const float*>(frame.at[x])[(i / rest * classes + chosen) * rest + i % rest];
  }
};

}  // namespace

void PlanNll(Plan& plan, const NllArgs& args) {
  const Shape& shape = args.x.shape();
  int64_t rest = 1;
  for (int d = 2; d < shape.rank(); ++d) rest *= shape[d];
  const int64_t count = args.target.tensor->count();
  auto binding = [](const Operand& operand) { return operand.present() ? operand.binding : -1; };
  plan.SetCost(500 + static_cast<uint64_t>(count) * 4);
  plan.SetBody(NllBody{args.x.binding, args.target.binding, binding(args.weight), args.out.binding,
                       binding(args.total), count, shape[1], rest, args.reduction, args.ignored});
}

}  // namespace belay::ops
