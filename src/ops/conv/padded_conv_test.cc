#include "ops/conv/padded_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "ops/conv/conv.h"
#include "ops/conv/conv_parts.h"
#include "ops/conv/ready_conv.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

// Channels last, in parts for so many cores.
std::vector<float> PaddedResult(const ConvBackend& backend, const ConvSpec& spec, int width,
                                const std::vector<float>& src, const std::vector<float>& weights,
                                const std::vector<float>& bias) {
  const ConvGeometry& g = spec.geometry;
  const ReadyConv ready(backend, spec, CutConv(g, width, backend.longest_row), nullptr);
  EXPECT_TRUE(ready.usable());
  std::vector<float> dst(static_cast<size_t>(g.batch * g.out_channels * g.out[0] * g.out[1] * g.out[2]),
                         0.5f);
  const auto packed = AlignedBytes(ready.weight_bytes()), scratch = AlignedBytes(ready.scratch_bytes());
  ready.Pack(reinterpret_cast<const char*>(weights.data()), packed.get(),
             AlignedBytes(ready.pack_scratch_bytes()).get());
  for (const ReadyConv::Part& part : ready.parts()) {
    EXPECT_TRUE(backend.run(*part.primitive, {src.data() + part.src, packed.get() + part.weights, bias.data(),
                                              dst.data() + part.dst, scratch.get()}));
  }
  return dst;
}

ConvGeometry PaddedGeometry(int64_t batch, int64_t in_channels, int64_t out_channels, const int64_t (&in)[2],
                            const int64_t (&kernel)[2], int64_t stride, int64_t dilation,
                            const int64_t (&before)[2], const int64_t (&after)[2]) {
  ConvGeometry g{batch,
                 1,
                 in_channels,
                 out_channels,
                 {1, in[0], in[1]},
                 {1, 1, 1},
                 {1, kernel[0], kernel[1]},
                 {1, stride, stride},
                 {1, dilation, dilation},
                 {0, before[0], before[1]},
                 {0, after[0], after[1]},
                 false};
  for (int d = 1; d < 3; ++d)
    g.out[d] = ConvOutputSize(g.in[d], g.kernel[d], g.stride[d], g.dilation[d], g.before[d], g.after[d]);
  return g;
}

TEST(PaddedConv, GivesWhatPlainLoopsGive) {
  if (OneDnnConv() == nullptr) return;
  std::mt19937 rng(5);
  std::uniform_real_distribution<float> random(-1, 1);
  for (const ConvGeometry& g : {PaddedGeometry(2, 16, 32, {9, 20}, {3, 9}, 1, 1, {1, 4}, {1, 4}),
                                PaddedGeometry(1, 24, 16, {7, 11}, {5, 11}, 1, 1, {2, 10}, {2, 0}),
                                PaddedGeometry(3, 8, 24, {1, 40}, {1, 7}, 2, 2, {0, 0}, {0, 8}),
                                PaddedGeometry(1, 16, 16, {1, 700}, {1, 15}, 1, 1, {0, 7}, {0, 7})}) {
    std::vector<float> src(static_cast<size_t>(g.batch * g.in_channels * g.in[1] * g.in[2])),
        weights(static_cast<size_t>(g.in_channels * g.out_channels * g.kernel[1] * g.kernel[2])),
        bias(static_cast<size_t>(g.out_channels));
    for (auto* list : {&src, &weights, &bias})
      std::generate(list->begin(), list->end(), [&] { return random(rng); });
    for (bool residual : {false, true}) {
      const ConvSpec spec{g, ConvType::kF32, true, residual, {ActivationKind::kRelu}};
      WeightLayout layout;
      if (!PaddedConv().layout(spec, &layout)) continue;  // AVX-512 may want weights in ways without words
      const std::vector<float> want = PaddedResult(PlainConv(), spec, 1, src, weights, bias);
      for (int width : {1, 3}) {
        const std::vector<float> got = PaddedResult(PaddedConv(), spec, width, src, weights, bias);
        for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << width << " at " << i;
      }
    }
  }
}

// Only with AVX2, and not where the padding's zeros times infinity would be no numbers.
TEST(PaddedConv, IsChosenForFiniteWeights) {
  Sample w(DType::kF32, {32, 16, 3, 9}), x(DType::kF32, {1, 16, 6, 20}), y(DType::kF32, {1, 32, 6, 20});
  const std::vector<int64_t> ones = {1, 1}, pads = {1, 4};
  ConvArgs args = {};
  args.input = {&x.tensor, nullptr, 0, "x"}, args.weight = {&w.tensor, nullptr, -1, "w"};
  args.out = {&y.tensor, nullptr, 1, "y"};
  args.strides = args.dilations = ones, args.before = args.after = pads;
  args.groups = 1, args.constant_weight = w.tensor.data;
  const bool avx2 = OneDnnConv() != nullptr && OneDnnConv()->machine() == std::string_view("avx2");
  for (float odd : {1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    testing::Floats(w)[7] = odd;
    const std::optional<PackedWeights> packed = PackConvWeights(args);
    EXPECT_EQ(packed && packed->machine.starts_with("padded"), avx2 && odd == 1) << odd;
  }
}

}  // namespace
}  // namespace belay::ops
