#include "ops/conv/grouped_conv.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

#include "ops/conv/conv.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

// The zeros of its padding times infinity would be no numbers: another one computes it.
TEST(GroupedConv, WeightsThatAreNotFinite) {
  Sample w(DType::kF32, {16, 4, 3, 3}), x(DType::kF32, {1, 16, 5, 5}), y(DType::kF32, {1, 16, 5, 5});
  const int64_t ones[] = {1, 1};
  ConvArgs args{.input = {&x.tensor, nullptr, 0, "x"},
                .weight = {&w.tensor, nullptr, -1, "w"},
                .bias = {},
                .residual = {},
                .out = {&y.tensor, nullptr, 1, "y"},
                .strides = ones,
                .dilations = ones,
                .before = ones,
                .after = ones,
                .groups = 4,
                .constant_weight = w.tensor.data};
  for (float odd : {1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    testing::Floats(w)[7] = odd;
    const std::optional<PackedWeights> packed = PackConvWeights(args);
    const bool grouped = packed && packed->machine.starts_with("grouped");
    EXPECT_EQ(grouped, odd == 1 && GroupedConv().machine() != std::string("grouped")) << odd;
  }
}

}  // namespace
}  // namespace belay::ops
