#include <cmath>

#include "ops/detect/detect.h"
#include "ops/matmul/gemv.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

struct DeformBody {
  DeformArgs args;
  Shape x, weight, out;
  PieceScratch<float> rows;  // what the taps of a group see, and the sums of the group
  GemvLoop gemv = BestGemv();

  int64_t seen_count() const { return weight[1] * weight[2] * weight[3]; }

  void operator()(const Frame& frame) const {
    rows.For(frame, [&](int64_t begin, int64_t end, float* seen) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t j = 0; j < out[3]; ++j) Pixel(frame, row / out[2], row % out[2], j, seen);
      }
    });
  }

  const float* At(const Frame& frame, const Operand& operand) const {
    return reinterpret_cast<const float*>(frame.at[operand.binding]);
  }

  void Pixel(const Frame& frame, int64_t n, int64_t i, int64_t j, float* seen) const {
    float* sums = seen + seen_count();
    const float* w = At(frame, args.weight);
    float* to = reinterpret_cast<float*>(frame.at[args.out.binding]);
    const int64_t per_group = weight[0] / args.groups, plane = out[2] * out[3];
    for (int64_t g = 0; g < args.groups; ++g) {
      Gather(frame, n, i, j, g, seen);
      const int64_t taps = seen_count();
      gemv(w + g * per_group * taps, taps, seen, taps, per_group, sums);
      for (int64_t k = 0; k < per_group; ++k) {
        const int64_t o = g * per_group + k;
        const float bias = args.bias.present() ? At(frame, args.bias)[o] : 0;
        to[(n * out[1] + o) * plane + i * out[3] + j] = sums[k] + bias;
      }
    }
  }

  // What the taps of one group see from one position.
  void Gather(const Frame& frame, int64_t n, int64_t i, int64_t j, int64_t g, float* seen) const {
    const int64_t taps = weight[2] * weight[3], plane = out[2] * out[3], here = i * out[3] + j;
    const float* offset = At(frame, args.offset) + n * args.offset_groups * taps * 2 * plane + here;
    const float* mask =
        args.mask.present() ? At(frame, args.mask) + n * args.offset_groups * taps * plane + here : nullptr;
    for (int64_t c = 0; c < weight[1]; ++c) {
      const int64_t channel = g * weight[1] + c, og = channel / (x[1] / args.offset_groups);
      const float* image = At(frame, args.x) + (n * x[1] + channel) * x[2] * x[3];
      for (int64_t k = 0; k < taps; ++k) {
        const int64_t tap = og * taps + k;
        const float y =
            static_cast<float>(i * args.strides[0] - args.before[0] + k / weight[3] * args.dilations[0]) +
            offset[tap * 2 * plane];
        const float at =
            static_cast<float>(j * args.strides[1] - args.before[1] + k % weight[3] * args.dilations[1]) +
            offset[(tap * 2 + 1) * plane];
        const float value = Sampled(image, y, at);
        seen[c * taps + k] = mask == nullptr ? value : value * mask[tap * plane];
      }
    }
  }

  float Sampled(const float* image, float y, float at) const {
    const float top = std::floor(y), left = std::floor(at);
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
      const float row = top + static_cast<float>(k / 2), column = left + static_cast<float>(k % 2);
      if (row < 0 || column < 0 || row >= static_cast<float>(x[2]) || column >= static_cast<float>(x[3]))
        continue;
      const float weight_here = (1 - std::abs(y - row)) * (1 - std::abs(at - column));
      sum += weight_here * image[static_cast<int64_t>(row) * x[3] + static_cast<int64_t>(column)];
    }
    return sum;
  }
};

}  // namespace

void PlanDeformConv(Plan& plan, const DeformArgs& args) {
  if (args.out.tensor->empty()) return;
  DeformBody body{args, args.x.shape(), args.weight.shape(), args.out.shape(), {}};
  body.rows = {plan, body.out[0] * body.out[2], 1, body.seen_count() + body.weight[0] / args.groups};
  // Only bindings are used from here on; presence is told by a mark that outlives the tensors.
  static const Tensor there;
  for (Operand* operand : {&body.args.x, &body.args.weight, &body.args.offset, &body.args.bias,
                           &body.args.mask, &body.args.out}) {
    if (operand->tensor != nullptr) operand->tensor = &there;
  }
  plan.SetCost(
      500 + static_cast<uint64_t>(args.out.tensor->count() * args.weight.tensor->count() / body.weight[0]));
  plan.SetBody(body);
}

}  // namespace belay::ops
