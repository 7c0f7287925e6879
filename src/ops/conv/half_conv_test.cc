// Convolutions of FLOAT16 and BFLOAT16 with their channels last: part after part is widened, computed as
// FLOAT and rounded once. Whole numbers are summed exactly, so nothing else may be different.
#include <gtest/gtest.h>

#include <cstring>

#include "ops/conv/channels_last.h"
#include "ops/conv/conv.h"
#include "ops/conv/conv_parts.h"
#include "ops/testing/sample.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

using testing::Sample;

struct HalfConv {
  Shape in, weight;
  std::vector<int64_t> strides, pads;
  int64_t groups = 1;
  bool transposed = false;
  Activation activation = {};
  int64_t dilation = 1;
  std::vector<int64_t> ends = {};  // pads at the ends where they are others
};

Shape HalfResult(const HalfConv& c) {
  Shape shape{c.in[0], c.transposed ? c.weight[1] * c.groups : c.weight[0]};
  const std::vector<int64_t>& ends = c.ends.empty() ? c.pads : c.ends;
  for (size_t i = 0; i < c.strides.size(); ++i) {
    const int d = static_cast<int>(i) + 2;
    shape.push_back(
        c.transposed ? (c.in[d] - 1) * c.strides[i] + (c.weight[d] - 1) * c.dilation + 1 - c.pads[i] - ends[i]
                     : ConvOutputSize(c.in[d], c.weight[d], c.strides[i], c.dilation, c.pads[i], ends[i]));
  }
  return shape;
}

struct HalfOperands {
  Sample x, weight, bias, out;

  HalfOperands(const HalfConv& c, DType type, bool channels_last)
      : x(type, c.in), weight(type, c.weight), bias(type, {HalfResult(c)[1]}), out(type, HalfResult(c)) {
    for (Sample* sample : {&x, &out}) {
      if (channels_last) sample->tensor.strides = ChannelsLastStrides(sample->tensor.shape);
    }
  }

  uint64_t Run(const HalfConv& c, bool constant) {
    const std::vector<int64_t> dilations(c.strides.size(), c.dilation);
    PlanRef plan = testing::NewPlan();
    ConvArgs args{.input = x.BoundTo(*plan, Access::kRead, "x"),
                  .weight = {&weight.tensor, nullptr, -1, "w"},
                  .bias = {&bias.tensor, nullptr, -1, "b"},
                  .residual = {},
                  .out = out.BoundTo(*plan, Access::kWrite, "y"),
                  .strides = c.strides,
                  .dilations = dilations,
                  .before = c.pads,
                  .after = c.ends.empty() ? c.pads : c.ends,
                  .groups = c.groups,
                  .transposed = c.transposed,
                  .activation = c.activation,
                  .constant_bias = bias.tensor.data};
    if (constant) {
      args.constant_weight = weight.tensor.data;
    } else {
      args.weight = weight.BoundTo(*plan, Access::kRead, "w");
    }
    PlanConv(*plan, args);
    testing::RunPlan(*plan);
    return plan->workspace_bytes();
  }
};

// Whole numbers, each in [-most, most].
void FillWhole(Sample& sample, std::mt19937& rng, int most) {
  std::uniform_int_distribution<int> number(-most, most);
  const int64_t count = sample.tensor.count();
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(number(rng));
  tensor::Convert(sample.tensor.dtype, sample.tensor.data, DType::kF32, values.data(), count);
}

// The bytes of the same storage in another type.
void ConvertStorage(Sample& to, const Sample& from) {
  tensor::Convert(to.tensor.dtype, to.tensor.data, from.tensor.dtype, from.tensor.data, from.tensor.count());
}

// The workspace of the halves.
uint64_t ExpectRoundedOnce(const HalfConv& c, DType type, bool constant) {
  std::mt19937 rng(11);
  HalfOperands floats(c, DType::kF32, true), halves(c, type, true);
  FillWhole(floats.x, rng, 9), FillWhole(floats.weight, rng, 5), FillWhole(floats.bias, rng, 90);
  ConvertStorage(halves.x, floats.x), ConvertStorage(halves.weight, floats.weight);
  ConvertStorage(halves.bias, floats.bias);
  floats.Run(c, constant);
  const uint64_t workspace = halves.Run(c, constant);
  Sample want(type, floats.out.tensor.shape);
  ConvertStorage(want, floats.out);
  EXPECT_EQ(
      std::memcmp(want.tensor.data, halves.out.tensor.data, static_cast<size_t>(want.tensor.count()) * 2), 0)
      << NameOf(type) << ' ' << c.in.ToString() << " * " << c.weight.ToString();
  return workspace;
}

constexpr Activation kClip6{ActivationKind::kClip, 0, 6}, kRelu{ActivationKind::kRelu};

const std::vector<HalfConv>& HalfConvs() {
  static const auto& all = *new std::vector<HalfConv>{
      {{1, 48, 64, 64}, {48, 48, 3, 3}, {1, 1}, {1, 1}, 1, false, kRelu},
      {{1, 32, 65, 66}, {64, 32, 3, 3}, {2, 2}, {1, 1}, 1, false, kClip6, 1, {0, 1}},
      {{1, 96, 64, 63}, {24, 96, 1, 1}, {1, 1}, {0, 0}},
      {{1, 96, 64, 64}, {96, 1, 3, 3}, {2, 2}, {1, 1}, 96, false, kClip6},
      {{1, 64, 61, 64}, {64, 1, 5, 5}, {1, 1}, {2, 2}, 64},
      {{3, 32, 40, 41}, {48, 16, 3, 3}, {1, 1}, {2, 2}, 2, false, {}, 2},
      {{1, 48, 48, 48}, {48, 32, 2, 2}, {2, 2}, {0, 0}, 1, true},
      {{2, 24, 40, 36}, {24, 32, 4, 4}, {2, 2}, {1, 1}, 1, true},
      {{1, 32, 6, 40, 36}, {32, 32, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
      {{1, 40, 9000}, {48, 40, 5}, {1}, {2}},
      {{1, 3, 128, 128}, {32, 3, 7, 7}, {2, 2}, {3, 3}, 1, false, kRelu},
      {{1, 5, 3, 3}, {4, 5, 3, 3}, {1, 1}, {1, 1}},
  };
  return all;
}

TEST(HalfConv, PartsAreWidenedAndRoundedOnce) {
  for (const HalfConv& c : HalfConvs()) {
    for (DType type : {DType::kF16, DType::kBF16}) {
      for (bool constant : {true, false}) ExpectRoundedOnce(c, type, constant);
    }
  }
}

// What is widened at once stays in a cache: neither image is there as FLOAT.
TEST(HalfConv, PartsNeedLittleRoom) {
  for (size_t i : {0u, 2u, 3u}) {
    const HalfConv& c = HalfConvs()[i];
    const int64_t floats = 4 * (CountOf(c.in) + CountOf(HalfResult(c)));
    EXPECT_LT(ExpectRoundedOnce(c, DType::kF16, true), static_cast<uint64_t>(floats)) << i;
  }
}

TEST(HalfConv, RowsAreCutAlike) {
  const ConvGeometry g{1,         1,         48,        48,        {1, 64, 64}, {1, 64, 64},
                       {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1},   false};
  const std::vector<ConvPart> parts = CutRowsAlike(g, 5);
  ASSERT_EQ(parts.size(), 8u);
  for (const ConvPart& part : parts) EXPECT_EQ(part.geometry.out[1], 8);
  for (const ConvPart& part : CutRowsAlike(g, 1000))
    EXPECT_GE(part.geometry.out[1], 8) << "two rows are read twice";
}

}  // namespace
}  // namespace belay::ops
