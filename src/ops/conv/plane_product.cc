#include "ops/conv/plane_product.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/conv/conv_parts.h"
#include "ops/conv/plane_conv_loops.h"
#include "ops/conv/plane_operands.h"
#include "ops/layout/float_transpose.h"
#include "ops/matmul/gemm.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

int64_t PlaneSize(const int64_t* sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// Each pixel of the result sees the one of its own.
bool SeesItsOwn(const ConvGeometry& g) {
  for (int d = 0; d < 3; ++d) {
    if (g.kernel[d] != 1 || g.stride[d] != 1 || g.before[d] != 0 || g.in[d] != g.out[d]) return false;
  }
  return true;
}

// Taps see no padding, and no pixel twice: what they see is brought together once.
bool SeesPatches(const ConvGeometry& g) {
  for (int d = 0; d < 3; ++d) {
    const int64_t seen = (g.out[d] - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] + 1;
    if (g.kernel[d] > g.stride[d] || g.dilation[d] > 1 || g.before[d] != 0 || seen > g.in[d]) return false;
  }
  return true;
}

// Pixels of a part, at least, that are worth a core where they are brought together.
constexpr int64_t kLeastPatches = 64;

struct PlaneProductBody {
  // Of one group of one image; pixels in parts whose planes stay in the cache until they are clipped.
  int64_t depth, out_channels, pixels, part, parts;
  ConvGeometry g;
  bool gathers;
  float low, high;
  PlaneOperands operands;
  PieceScratch<float> patches;  // of a part: for each channel's taps what they see
  const PlaneConvLoops* loops = &BestPlaneConvLoops();
  const GemmBackend* backend = &BestGemm();

  void operator()(const Frame& frame) const {
    const float *from = operands.Input(frame), *weights = operands.Weights(frame);
    const float* added = operands.Bias(frame);
    float* to = operands.Result(frame);
    patches.For(frame, [&](int64_t begin, int64_t end, float* room) {
      for (int64_t i = begin; i < end; ++i) Part(i, from, weights, added, to, room);
    });
    operands.Store(frame);
  }

  void Part(int64_t i, const float* from, const float* weights, const float* added, float* to,
            float* room) const {
    const int64_t image = i / parts, group = image % g.groups, first = i % parts * part;
    const int64_t n = std::min(part, pixels - first);
    float* planes = to + image * out_channels * pixels + first;
    const float* seen = from + image * (g.in_channels / g.groups) * PlaneSize(g.in);
    if (gathers) Gather(seen, first / g.out[2], n / g.out[2], room);
    const GemmMatrix right = gathers ? GemmMatrix{room, n, false} : GemmMatrix{seen + first, pixels, false};
    const Gemm product{out_channels,  n,      depth,  {weights + group * out_channels * depth, depth, false},
                       right,         planes, pixels, GemmType::kF32,
                       GemmType::kF32};
    if (!backend->run(product)) PlainGemm().run(product);
    for (int64_t c = 0; c < out_channels; ++c) {
      loops->finish(planes + c * pixels, n, added == nullptr ? 0 : added[group * out_channels + c], low,
                    high);
    }
  }

  // What the taps see from some lines of the result on.
  void Gather(const float* planes, int64_t first, int64_t lines, float* to) const {
    const int64_t wide = g.out[2];
    for (int64_t c = 0; c < g.in_channels / g.groups; ++c, planes += PlaneSize(g.in)) {
      for (int64_t k = 0; k < g.kernel[0] * g.kernel[1]; ++k, to += g.kernel[2] * lines * wide) {
        for (int64_t line = first, last; line < first + lines; line = last) {  // of one plane of the result
          last = std::min(first + lines, (line / g.out[1] + 1) * g.out[1]);
          const int64_t z = line / g.out[1] * g.stride[0] + k / g.kernel[1],
                        y = line % g.out[1] * g.stride[1] + k % g.kernel[1];
          GatherLines(planes + (z * g.in[1] + y) * g.in[2], last - line, lines * wide,
                      to + (line - first) * wide);
        }
      }
    }
  }

  // For each tap along a line what it sees of some lines; those rows are `apart`.
  void GatherLines(const float* from, int64_t count, int64_t apart, float* to) const {
    constexpr int64_t kNearStep = 2;
    const int64_t step = g.stride[2], wide = g.out[2], pitch = g.stride[1] * g.in[2];
    if (step > kNearStep && g.kernel[2] > 1) {
      for (int64_t i = 0; i < count; ++i, from += pitch, to += wide)
        TurnFloats(from, step, to, apart, wide, g.kernel[2]);
      return;
    }
    for (int64_t k = 0; k < g.kernel[2]; ++k)
      loops->pick(to + k * apart, from + k, step, {count, wide, pitch, wide});
  }
};

}  // namespace

bool PaysAsPlanes(int64_t in_channels, int64_t out_channels, int64_t pixels) {
  constexpr int64_t kFewChannels = 128, kManyPixels = 512;
  return pixels >= kManyPixels && in_channels * out_channels <= kFewChannels * (in_channels + out_channels);
}

bool PaysAsPatches(int64_t depth, int64_t filters, int64_t pixels) {
  constexpr int64_t kFewProducts = 32, kFewFilters = 16;  // which are added up quicker one by one
  return depth > kFewProducts && filters >= kFewFilters && pixels >= kLeastPatches;
}

bool HalvesFillVectors(const ConvArgs& args, const ConvGeometry& g) {
  constexpr int64_t kVector = 16;
  return MultipliesHalves(args) && std::min(g.in_channels, g.out_channels) / g.groups >= kVector;
}

bool IsPlaneProduct(const ConvArgs& args, const ConvGeometry& g) {
  const int64_t depth = g.in_channels / g.groups * PlaneSize(g.kernel), filters = g.out_channels / g.groups,
                pixels = PlaneSize(g.out);
  const bool keeps_cores = g.batch * g.groups * pixels >= kLeastPatches * ParallelWidth();
  const bool pays = SeesItsOwn(g) ? PaysAsPlanes(depth, filters, pixels)
                                  : SeesPatches(g) && keeps_cores && PaysAsPatches(depth, filters, pixels);
  return pays && !g.transposed && !args.exact && !args.bf16 && !HalvesFillVectors(args, g) && !IsDeep(g) &&
         LieAsPlanes(args);
}

void PlanPlaneProduct(Plan& plan, const ConvArgs& args, const ConvGeometry& g) {
  PlaneProductBody body;
  FindClip(args.activation, &body.low, &body.high);
  body.operands = PlaneOperands(plan, args);
  constexpr int64_t kFloats = 64 * 1024, kLeast = 512, kSmall = 1 << 16;
  body.g = g, body.gathers = !SeesItsOwn(g);
  body.depth = g.in_channels / g.groups * PlaneSize(g.kernel), body.out_channels = g.out_channels / g.groups;
  body.pixels = PlaneSize(g.out);
  const int64_t fitting = kFloats / (body.depth + body.out_channels) / 64 * 64;
  body.part = std::min(std::max(fitting, kLeast), body.pixels);
  if (body.gathers) {  // whole lines, and a part for each core
    const int64_t images = g.batch * g.groups, cores = (ParallelWidth() + images - 1) / images;
    body.part = std::min(body.part, std::max(kLeastPatches, (body.pixels + cores - 1) / cores));
    body.part = (body.part + g.out[2] - 1) / g.out[2] * g.out[2];
  }
  body.parts = (body.pixels + body.part - 1) / body.part;
  const int64_t count = g.batch * g.groups * body.parts;
  body.patches = {plan, count, ConvProducts(g) > kSmall ? 1 : count,
                  body.gathers ? body.depth * body.part : 0};
  plan.SetProducts(ConvProducts(g));
  plan.SetCost(1000 + static_cast<uint64_t>(ConvFlops(g) / 100));
  plan.SetBody(body);
}

}  // namespace belay::ops
