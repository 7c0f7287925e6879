#include "ops/conv/phased_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "ops/conv/conv_parts.h"
#include "ops/conv/ready_conv.h"

namespace belay::ops {
namespace {

ConvGeometry RandomTransposed(std::mt19937& rng) {
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  };
  ConvGeometry g{};
  g.transposed = true, g.batch = draw(1, 3), g.groups = draw(1, 2);
  g.in_channels = g.groups * draw(1, 20), g.out_channels = g.groups * draw(1, 36);
  for (int d = 0; d < 3; ++d) {
    const bool alone = d == 0 && draw(0, 3) > 0;
    g.in[d] = alone ? 1 : draw(1, 7), g.kernel[d] = alone ? 1 : draw(1, 5);
    g.stride[d] = alone ? 1 : draw(1, 3), g.dilation[d] = alone ? 1 : draw(1, 3);
    const int64_t reach = (g.kernel[d] - 1) * g.dilation[d];
    g.before[d] = alone ? 0 : draw(0, std::min<int64_t>(2, reach));
    const int64_t most = (g.in[d] - 1) * g.stride[d] + reach + 1 - g.before[d];
    g.out[d] = alone ? 1 : std::max<int64_t>(1, most - draw(0, 2) + draw(0, 1));
    g.after[d] = most - g.out[d];
  }
  return g;
}

std::vector<float> ResultBy(const ConvBackend& backend, const ConvSpec& spec, int width,
                            const std::vector<float>& src, const std::vector<float>& weights,
                            const std::vector<float>& bias) {
  const ConvGeometry& g = spec.geometry;
  const ReadyConv ready(backend, spec, CutRowsEvenly(g, width), nullptr);
  if (!ready.usable()) return {};
  std::vector<float> dst(static_cast<size_t>(g.batch * g.out_channels * g.out[0] * g.out[1] * g.out[2]), -1);
  std::vector<char> packed(static_cast<size_t>(ready.weight_bytes())),
      scratch(static_cast<size_t>(std::max(ready.scratch_bytes(), ready.pack_scratch_bytes())));
  ready.Pack(reinterpret_cast<const char*>(weights.data()), packed.data(), scratch.data());
  for (const ReadyConv::Part& part : ready.parts()) {
    EXPECT_TRUE(backend.run(*part.primitive, {src.data() + part.src, packed.data() + part.weights,
                                              bias.data(), dst.data() + part.dst, scratch.data()}));
  }
  return dst;
}

TEST(PhasedConv, GivesWhatThePlainOneGives) {
  if (PhasedConv() == nullptr) GTEST_SKIP() << "oneDNN is not there";
  std::mt19937 rng(3);
  std::uniform_real_distribution<float> random(-1, 1);
  int computed = 0;
  for (int i = 0; i < 400; ++i) {
    ConvSpec spec{RandomTransposed(rng), ConvType::kF32, rng() % 2 == 0, false, {}};
    const ConvGeometry& g = spec.geometry;
    if (rng() % 3 == 0) spec.activation.kind = ActivationKind::kRelu;
    std::vector<float> src(static_cast<size_t>(g.batch * g.in_channels * g.in[0] * g.in[1] * g.in[2]));
    std::vector<float> weights(static_cast<size_t>(g.in_channels * g.out_channels / g.groups * g.kernel[0] *
                                                   g.kernel[1] * g.kernel[2]));
    std::vector<float> bias(static_cast<size_t>(g.out_channels));
    for (auto* list : {&src, &weights, &bias})
      std::generate(list->begin(), list->end(), [&] { return random(rng); });
    const std::vector<float> want = ResultBy(PlainConv(), spec, 1, src, weights, bias);
    for (const int width : {1, 2, 5}) {
      const std::vector<float> got = ResultBy(*PhasedConv(), spec, width, src, weights, bias);
      if (got.empty()) continue;
      ++computed;
      for (size_t at = 0; at < want.size(); ++at)
        ASSERT_NEAR(got[at], want[at], 1e-4) << "case " << i << " of width " << width << " at " << at;
    }
  }
  EXPECT_GT(computed, 300) << "most of what has steps comes in phases";
}

}  // namespace
}  // namespace belay::ops
