// Convolutions whose sums have very many terms keep their digits.
#include "ops/conv/deep_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/conv/byte_conv.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/conv.h"
#include "ops/conv/ready_conv.h"
#include "ops/detect/detect.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Floats;
using testing::Sample;

constexpr int64_t kLong = 300'000;
constexpr int64_t kOnes[] = {1, 1, 1}, kZeros[] = {0, 0, 0};

void Fill(Sample& sample, float value) { std::fill_n(Floats(sample), sample.tensor.count(), value); }

struct DeepCase {
  Shape in, weight, out;
  int64_t groups = 1;
  bool transposed = false;
  std::vector<int64_t> strides = {};
};

// Tenths, of which each result is the sum of kLong, and a half.
void CheckDeep(const DeepCase& c, bool constant, bool last) {
  Sample x(DType::kF32, c.in), w(DType::kF32, c.weight), b(DType::kF32, {c.out[1]}), out(DType::kF32, c.out);
  Fill(x, 1), Fill(w, 0.1f), Fill(b, 0.5f);
  if (last) x.tensor.strides = ChannelsLastStrides(c.in), out.tensor.strides = ChannelsLastStrides(c.out);
  const auto spatial = static_cast<size_t>(c.in.rank() - 2);
  PlanRef plan = testing::NewPlan();
  ConvArgs args{.input = x.BoundTo(*plan, Access::kRead, "x"),
                .weight = {&w.tensor, nullptr, -1, "w"},
                .bias = b.BoundTo(*plan, Access::kRead, "b"),
                .residual = {},
                .out = out.BoundTo(*plan, Access::kWrite, "y"),
                .strides = {kOnes, spatial},
                .dilations = {kOnes, spatial},
                .before = {kZeros, spatial},
                .after = {kZeros, spatial},
                .groups = c.groups,
                .transposed = c.transposed,
                .constant_weight = constant ? w.tensor.data : nullptr};
  if (!c.strides.empty()) args.strides = c.strides;
  if (!constant) args.weight = w.BoundTo(*plan, Access::kRead, "w");
  EXPECT_FALSE(PackConvWeights(args));
  PlanConv(*plan, args);
  testing::RunPlan(*plan);
  for (int64_t i = 0; i < out.tensor.count(); ++i)
    ASSERT_NEAR(Floats(out)[i] / (kLong * static_cast<double>(0.1f) + 0.5), 1, 1e-6) << c.weight.ToString();
}

TEST(DeepConv, SumsKeepTheirDigits) {
  const std::vector<DeepCase> cases = {
      {{1, kLong, 2, 2}, {3, kLong, 1, 1}, {1, 3, 2, 2}},             // products of matrices
      {{1, kLong * 2, 3}, {4, kLong, 1}, {1, 4, 3}, 2},               // ... in groups
      {{1, 1, kLong + 2}, {2, 1, kLong}, {1, 2, 3}},                  // a long kernel
      {{1, 2, 500, 601}, {2, 1, 500, 600}, {1, 2, 1, 2}, 2},          // for each channel
      {{2, 300, 10, 10, 10}, {2, 300, 10, 10, 10}, {2, 2, 1, 1, 1}},  // in space
      {{1, kLong, 1, 2}, {kLong, 2, 1, 1}, {1, 2, 1, 2}, 1, true},    // transposed
      {{1, kLong, 1, 2}, {kLong, 1, 2, 2}, {1, 1, 2, 4}, 1, true, {2, 2}}};
  for (const DeepCase& c : cases) {
    for (bool constant : {false, true}) CheckDeep(c, constant, constant);
  }
}

// The same as the plain loops give, NaN for NaN. `odd`: an infinity in the image, and in each filter's first
// and last tap something that is not finite.
void CheckAgainstPlainLoops(const ConvGeometry& g, const Activation& activation, bool odd) {
  const ConvSpec spec{g, ConvType::kF32, true, true, activation};
  const auto taps = static_cast<size_t>(g.kernel[0] * g.kernel[1] * g.kernel[2]);
  std::vector<float> src(static_cast<size_t>(g.batch * g.in[0] * g.in[1] * g.in[2] * g.in_channels)),
      weights(static_cast<size_t>(g.in_channels / g.groups * g.out_channels) * taps),
      bias(static_cast<size_t>(g.out_channels)),
      start(static_cast<size_t>(g.batch * g.out[0] * g.out[1] * g.out[2] * g.out_channels));
  int next = 0;
  for (auto* list : {&src, &weights, &bias, &start}) {
    for (float& value : *list) value = static_cast<float>(next++ * 7 % 13 - 6);
  }
  if (odd) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const size_t filter = weights.size() / bias.size();
    for (size_t at = 0; at < weights.size(); at += filter) {
      weights[at] = at % 2 == 0 ? kInf : std::numeric_limits<float>::quiet_NaN();
      weights[at + filter - 1] = -kInf;
    }
    src[src.size() / 2] = kInf;
  }
  std::vector<float> results[2];
  for (const ConvBackend* backend : {&PlainConv(), &DeepConv()}) {
    const ReadyConv ready(*backend, spec, {{g, 0, 0}}, nullptr);
    std::vector<float> packed(static_cast<size_t>(ready.weight_bytes())),
        scratch(static_cast<size_t>(ready.scratch_bytes()) + 1),
        &dst = results[backend == &PlainConv() ? 0 : 1] = start;
    ready.Pack(reinterpret_cast<const char*>(weights.data()), reinterpret_cast<char*>(packed.data()),
               nullptr);
    ASSERT_TRUE(backend->run(*ready.parts()[0].primitive,
                             {src.data(), packed.data(), bias.data(), dst.data(), scratch.data()}));
  }
  for (size_t i = 0; i < start.size(); ++i) {
    const float want = results[0][i], got = results[1][i];
    ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
        << got << ", wanted " << want << " at " << i;
  }
}

// Whatever the geometry is, as the plain loops have it.
TEST(DeepConv, AgreesWithPlainLoops) {
  for (const ConvGeometry& g :
       {ConvGeometry{
            2, 2, 6, 8, {3, 5, 7}, {2, 3, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, false},
        ConvGeometry{
            1, 1, 5, 3, {1, 9, 8}, {1, 5, 4}, {1, 3, 3}, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}, {0, 0, 0}, false},
        ConvGeometry{
            3, 3, 6, 9, {1, 4, 5}, {1, 4, 5}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, false},
        ConvGeometry{3,
                     4,
                     4,
                     4,
                     {1, 4, 5},
                     {1, 2, 3},
                     {1, 1, 1},
                     {1, 2, 2},
                     {1, 1, 1},
                     {0, 0, 0},
                     {0, 0, 0},
                     false}}) {
    CheckAgainstPlainLoops(g, {ActivationKind::kRelu, 0.5f}, false);
  }
}

// ... whatever the weights are that it meets.
TEST(DeepConv, PaddingAddsNothing) {
  for (const ConvGeometry& g :
       {ConvGeometry{
            2, 2, 6, 8, {3, 5, 7}, {2, 3, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, false},
        ConvGeometry{
            1, 2, 4, 2, {1, 4, 5}, {1, 6, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 2, 1}, {0, 2, 1}, false},
        ConvGeometry{1,
                     1,
                     1,
                     70,
                     {1, 1, 4},
                     {1, 1, 3},
                     {1, 1, 3},
                     {1, 1, 2},
                     {1, 1, 1},
                     {0, 0, 1},
                     {0, 0, 2},
                     false}}) {
    CheckAgainstPlainLoops(g, {}, true);
  }
}

// So many products of bytes that their sum does not fit 32 bits.
TEST(DeepConv, SumsOfBytesDoNotWrap) {
  constexpr int64_t kMany = 200'000;
  Sample x(DType::kU8, {1, kMany, 1, 1}), y(DType::kU8, {1, 1, 1, 1}), w(DType::kI8, {1, kMany, 1, 1});
  std::fill(x.storage.begin(), x.storage.end(), static_cast<char>(255));
  const std::vector<int8_t> weight(kMany, 127);
  const float scale = 1e-8f;
  PlanRef plan = testing::NewPlan();
  ByteConvArgs args{
      .conv = {}, .weight = weight, .bias = {}, .scales = {&scale, 1}, .in_zero = 0, .out_zero = 0};
  args.conv.input = x.BoundTo(*plan, Access::kRead, "x"),
  args.conv.out = y.BoundTo(*plan, Access::kWrite, "y");
  args.conv.weight = {&w.tensor, nullptr, -1, "w"};
  args.conv.strides = args.conv.dilations = {kOnes, 2}, args.conv.before = args.conv.after = {kZeros, 2};
  PlanByteConv(*plan, args);
  testing::RunPlan(*plan);
  EXPECT_EQ(static_cast<uint8_t>(y.storage[0]), 65);  // 6.477e9 * scale
}

TEST(DeepConv, OfDisplacedTaps) {
  Sample x(DType::kF32, {1, kLong, 1, 1}), w(DType::kF32, {1, kLong, 1, 1}),
      offset(DType::kF32, {1, 2, 1, 1}), out(DType::kF32, {1, 1, 1, 1});
  Fill(x, 1), Fill(w, 0.1f), Fill(offset, 0);
  PlanRef plan = testing::NewPlan();
  DeformArgs args{};
  args.x = x.BoundTo(*plan, Access::kRead, "x"), args.weight = w.BoundTo(*plan, Access::kRead, "w");
  args.offset = offset.BoundTo(*plan, Access::kRead, "offset");
  args.out = out.BoundTo(*plan, Access::kWrite, "y");
  args.strides[0] = args.strides[1] = args.dilations[0] = args.dilations[1] = 1;
  args.groups = args.offset_groups = 1;
  PlanDeformConv(*plan, args);
  testing::RunPlan(*plan);
  EXPECT_NEAR(Floats(out)[0] / (kLong * static_cast<double>(0.1f)), 1, 1e-6);
}

TEST(DeepConv, MeansOfLargeRegions) {
  constexpr int64_t kSide = 1000;
  Sample x(DType::kF32, {1, 1, kSide, kSide}), rois(DType::kF32, {1, 4}), batches(DType::kI64, {1}),
      out(DType::kF32, {1, 1, 1, 1});
  Fill(x, 0.1f);
  const float corners[] = {0.5f, 0.5f, kSide + 0.5f, kSide + 0.5f};
  std::copy_n(corners, 4, Floats(rois));
  PlanRef plan = testing::NewPlan();
  PlanRoiAlign(*plan, {.x = x.BoundTo(*plan, Access::kRead, "x"),
                       .rois = rois.BoundTo(*plan, Access::kRead, "rois"),
                       .batches = batches.BoundTo(*plan, Access::kRead, "batches"),
                       .out = out.BoundTo(*plan, Access::kWrite, "y"),
                       .rule = {.shift = 0.5}});
  testing::RunPlan(*plan);
  EXPECT_NEAR(Floats(out)[0] / static_cast<double>(0.1f), 1, 1e-6);
}

}  // namespace
}  // namespace belay::ops
