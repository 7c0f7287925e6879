// Rows of a single dimension that are cut because a backend takes as long to be made as they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "ops/conv/conv_parts.h"
#include "ops/conv/ready_conv.h"

namespace belay::ops {
namespace {

ConvGeometry RowOf(int64_t batch, int64_t in_channels, int64_t out_channels, int64_t in, int64_t kernel,
                   int64_t stride, int64_t dilation, int64_t before, int64_t after) {
  const int64_t out = (in + before + after - (kernel - 1) * dilation - 1) / stride + 1;
  return {batch,
          1,
          in_channels,
          out_channels,
          {1, 1, in},
          {1, 1, out},
          {1, 1, kernel},
          {1, 1, stride},
          {1, 1, dilation},
          {0, 0, before},
          {0, 0, after},
          false};
}

std::vector<float> RowResult(const ConvBackend& backend, const ConvGeometry& g, int width,
                             int64_t longest_row, const std::vector<float>& src,
                             const std::vector<float>& weights) {
  const ConvSpec spec{g, ConvType::kF32, false, false, {}};
  const ReadyConv ready(backend, spec, CutConv(g, width, longest_row), nullptr);
  EXPECT_TRUE(ready.usable());
  std::vector<float> dst(static_cast<size_t>(g.batch * g.out_channels * g.out[2]), -1.0f);
  std::vector<char> packed(static_cast<size_t>(ready.weight_bytes())),
      scratch(static_cast<size_t>(ready.scratch_bytes()));
  ready.Pack(reinterpret_cast<const char*>(weights.data()), packed.data(), nullptr);
  for (const ReadyConv::Part& part : ready.parts()) {
    EXPECT_TRUE(backend.run(*part.primitive, {src.data() + part.src, packed.data() + part.weights, nullptr,
                                              dst.data() + part.dst, scratch.data()}));
  }
  return dst;
}

TEST(LongRows, GiveWhatAWholeRowGives) {
  std::mt19937 rng(11);
  std::uniform_real_distribution<float> random(-1, 1);
  for (const ConvGeometry& g :
       {RowOf(1, 24, 32, 3001, 5, 1, 3, 6, 6), RowOf(3, 17, 16, 2100, 7, 2, 1, 3, 0),
        RowOf(2, 6, 8, 4096, 3, 1, 9, 9, 9), RowOf(1, 16, 40, 1500, 11, 3, 2, 0, 20)}) {
    std::vector<float> src(static_cast<size_t>(g.batch * g.in_channels * g.in[2]));
    std::vector<float> weights(static_cast<size_t>(g.in_channels * g.out_channels * g.kernel[2]));
    for (auto* list : {&src, &weights})
      std::generate(list->begin(), list->end(), [&] { return random(rng); });
    const std::vector<float> want = RowResult(PlainConv(), g, 1, 0, src, weights);
    for (const ConvBackend* backend : {&PlainConv(), OneDnnConv()}) {
      if (backend == nullptr) continue;
      for (int width : {1, 2, 7}) {
        const std::vector<float> got = RowResult(*backend, g, width, 256, src, weights);
        for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << width << " at " << i;
      }
    }
  }
}

TEST(LongRows, AreCutIntoPiecesThatAreWorthACall) {
  const auto pieces = [](const ConvGeometry& g, int64_t longest_row) {
    return CutConv(g, 1, longest_row).size();
  };
  const ConvGeometry wide = RowOf(1, 64, 64, 8192, 3, 1, 1, 1, 1), thin = RowOf(1, 4, 4, 8192, 3, 1, 1, 1, 1);
  EXPECT_EQ(pieces(wide, 512), 16u);
  EXPECT_EQ(pieces(wide, 0), 1u);
  EXPECT_EQ(pieces(thin, 512), 1u) << "too little work";
  EXPECT_EQ(pieces(RowOf(1, 64, 64, 512, 3, 1, 1, 1, 1), 512), 1u) << "not long";
  EXPECT_EQ(pieces(RowOf(1, 64, 64, 8192, 1, 1, 1, 0, 0), 512), 1u) << "a product of matrices";
  EXPECT_EQ(pieces(RowOf(2, 64, 64, 8192, 3, 1, 1, 1, 1), 512), 32u) << "those of each image";
  EXPECT_EQ(pieces(RowOf(1, 64, 64, 1 << 20, 3, 1, 1, 1, 1), 512), 256u) << "no more than that";
  ConvGeometry image = wide;
  image.in[1] = image.out[1] = 2;
  EXPECT_EQ(pieces(image, 512), 1u) << "not a single dimension";
}

}  // namespace
}  // namespace belay::ops
