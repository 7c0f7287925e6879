#include "ops/conv/plane_product.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/conv/conv_parts.h"
#include "ops/conv/plane_conv_loops.h"
#include "ops/conv/plane_operands.h"
#include "ops/matmul/gemm.h"

namespace belay::ops {
namespace {

int64_t PlaneSize(const ConvGeometry& g) { return g.in[0] * g.in[1] * g.in[2]; }

struct PlaneProductBody {
  // Of one group of one image; pixels in parts whose planes stay in the cache until they are clipped.
  int64_t in_channels, out_channels, pixels, groups, part, parts, count;
  float low, high;
  bool split;
  PlaneOperands operands;
  const PlaneConvLoops* loops = &BestPlaneConvLoops();
  const GemmBackend* backend = &BestGemm();

  void operator()(const Frame& frame) const {
    const float *from = operands.Input(frame), *weights = operands.Weights(frame);
    const float* added = operands.Bias(frame);
    float* to = operands.Result(frame);
    ParallelFor(count, split ? 1 : count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Part(i, from, weights, added, to);
    });
    operands.Store(frame);
  }

  void Part(int64_t i, const float* from, const float* weights, const float* added, float* to) const {
    const int64_t image = i / parts, group = image % groups, first = i % parts * part;
    const int64_t n = std::min(part, pixels - first);
    float* planes = to + image * out_channels * pixels + first;
    const Gemm product{out_channels,
                       n,
                       in_channels,
                       {weights + group * out_channels * in_channels, in_channels, false},
                       {from + image * in_channels * pixels + first, pixels, false},
                       planes,
                       pixels,
                       GemmType::kF32,
                       GemmType::kF32};
    if (!backend->run(product)) PlainGemm().run(product);
    for (int64_t c = 0; c < out_channels; ++c) {
      loops->finish(planes + c * pixels, n, added == nullptr ? 0 : added[group * out_channels + c], low,
                    high);
    }
  }
};

}  // namespace

bool PaysAsPlanes(int64_t in_channels, int64_t out_channels, int64_t pixels) {
  constexpr int64_t kFewChannels = 128, kManyPixels = 512;
  return pixels >= kManyPixels && in_channels * out_channels <= kFewChannels * (in_channels + out_channels);
}

bool HalvesFillVectors(const ConvArgs& args, const ConvGeometry& g) {
  constexpr int64_t kVector = 16;
  return MultipliesHalves(args) && std::min(g.in_channels, g.out_channels) / g.groups >= kVector;
}

bool IsPlaneProduct(const ConvArgs& args, const ConvGeometry& g) {
  for (int d = 0; d < 3; ++d) {
    if (g.kernel[d] != 1 || g.stride[d] != 1 || g.before[d] != 0 || g.in[d] != g.out[d]) return false;
  }
  return !g.transposed && !args.exact && !args.bf16 && !HalvesFillVectors(args, g) && !IsDeep(g) &&
         PaysAsPlanes(g.in_channels / g.groups, g.out_channels / g.groups, PlaneSize(g)) && LieAsPlanes(args);
}

void PlanPlaneProduct(Plan& plan, const ConvArgs& args, const ConvGeometry& g) {
  PlaneProductBody body;
  FindClip(args.activation, &body.low, &body.high);
  body.operands = PlaneOperands(plan, args);
  constexpr int64_t kFloats = 64 * 1024, kLeast = 512, kSmall = 1 << 16;
  body.in_channels = g.in_channels / g.groups, body.out_channels = g.out_channels / g.groups;
  body.pixels = PlaneSize(g), body.groups = g.groups;
  const int64_t fitting = kFloats / (body.in_channels + body.out_channels) / 64 * 64;
  body.part = std::min(std::max(fitting, kLeast), body.pixels);
  body.parts = (body.pixels + body.part - 1) / body.part;
  body.count = g.batch * g.groups * body.parts;
  body.split = ConvProducts(g) > kSmall;
  plan.SetProducts(ConvProducts(g));
  plan.SetCost(1000 + static_cast<uint64_t>(ConvFlops(g) / 100));
  plan.SetBody(body);
}

}  // namespace belay::ops
