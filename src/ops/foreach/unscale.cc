// Gradients of a loss that was scaled, so that small ones are not lost in 16 bits.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

struct UnscaleBody {
  struct Member {
    LoopNest nest;  // the gradient, twice: where it is read may be a copy
    Lane lane;
    int binding;
  };
  std::vector<Member> members;
  int found, scale;
  int64_t found_offset, scale_offset;

  void operator()(const Frame& frame) const {
    auto* state = reinterpret_cast<float*>(frame.at[found] + found_offset);
    const float by = *reinterpret_cast<const float*>(frame.at[scale] + scale_offset);
    bool bad = false;
    for (const Member& member : members) bad = Scale(frame, member, by) || bad;
    if (bad) *state = 1;
  }

  // Whether one was infinite or no number.
  static bool Scale(const Frame& frame, const Member& member, float by) {
    char* base[] = {frame.at[member.binding] + member.nest.offset(0)};
    std::atomic<bool> bad{false};
    member.nest.WalkAll(
        base,
        [&](char** at, int64_t n) {
          alignas(64) float values[kBlock], loaded[kBlock];
          float sum = 0;
          for (int64_t i = 0; i < n; i += kBlock) {
            const int64_t m = std::min(kBlock, n - i);
            char* place = at[0] + i * member.lane.step();
            const auto* x = static_cast<const float*>(member.lane.Load(loaded, place, m));
            for (int64_t k = 0; k < m; ++k)
              sum += x[k] * 0, values[k] = x[k] * by;  // infinity * 0: no number
            member.lane.Store(place, values, m, false);
          }
          if (sum != 0) bad.store(true, std::memory_order_relaxed);
        },
        [] {});
    return bad.load();
  }
};

// One step of a scale that grows while nothing overflows.
struct ScaleBody {
  int bindings[5];  // scale, tracker, found; the first two once they are updated
  int64_t offsets[5];
  double growth, backoff;
  int64_t interval;

  template <class T>
  T& At(const Frame& frame, int i) const {
    return *reinterpret_cast<T*>(frame.at[bindings[i]] + offsets[i]);
  }

  void operator()(const Frame& frame) const {
    auto scale = At<float>(frame, 0);
    const bool found = At<float>(frame, 2) != 0;
    int32_t steps = found ? 0 : At<int32_t>(frame, 1) + 1;
    if (found) scale = static_cast<float>(scale * backoff);
    if (!found && steps == interval) {
      const auto grown = static_cast<float>(scale * growth);
      scale = std::isfinite(grown) ? grown : scale;
      steps = 0;
    }
    At<float>(frame, 3) = scale;
    At<int32_t>(frame, 4) = steps;
  }
};

}  // namespace

void AmpUpdateScale(Plan& plan, DType, const Operand& currentScale, const Operand& growthTracker,
                    const Operand& foundInf, double growthFactor, double backoffFactor,
                    int64_t growthInterval, const Operand& scaleOut, const Operand& trackerOut) {
  const Operand* all[] = {&currentScale, &growthTracker, &foundInf, &scaleOut, &trackerOut};
  ScaleBody body{{}, {}, growthFactor, backoffFactor, growthInterval};
  for (size_t i = 0; i < 5; ++i) {
    CheckOne(*all[i]);
    body.bindings[i] = all[i]->binding;
    body.offsets[i] = OffsetOf(*all[i]->tensor);
  }
  plan.MayLieOn(currentScale.binding, scaleOut.binding);
  plan.MayLieOn(growthTracker.binding, trackerOut.binding);
  plan.SetCost(20);
  plan.SetBody(body);
}

void ForeachNonFiniteCheckAndUnscale(Plan& plan, DType, const OperandList& scaledGrads,
                                     const Operand& foundInf, const Operand& inScale, const OperandList&,
                                     const Operand&) {
  CheckOne(foundInf);
  CheckOne(inScale);
  UnscaleBody body{
      {}, foundInf.binding, inScale.binding, OffsetOf(*foundInf.tensor), OffsetOf(*inScale.tensor)};
  uint64_t cost = 500;
  for (const Operand& grad : scaledGrads) {
    if (grad.tensor->empty()) continue;
    LoopNest nest(grad.shape(), {grad});
    body.members.push_back({nest, Lane(grad.dtype(), grad.dtype(), nest.step(0)), grad.binding});
    cost += static_cast<uint64_t>(nest.count()) / 4;
  }
  plan.SetCost(cost);
  plan.SetBody(body);
}

}  // namespace belay::ops::kernels
