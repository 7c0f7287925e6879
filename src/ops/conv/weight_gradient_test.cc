#include "ops/conv/weight_gradient.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "ops/testing/sample.h"
#include "ops/testing/simd_levels.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

using testing::Floats;
using testing::Sample;

struct Sizes {
  int64_t batch, groups, in_each, out_each, in[3], kernel[3], stride[3], dilation[3], before[3], after[3];

  int64_t out(int d) const {
    return (in[d] + before[d] + after[d] - (kernel[d] - 1) * dilation[d] - 1) / stride[d] + 1;
  }
};

// [images, channels, positions] for what has `size` positions in each direction.
Sample Tensor3(int64_t images, int64_t channels, const int64_t (&size)[3], DType type = DType::kF32) {
  return Sample(type, {images, channels, size[0], size[1], size[2]});
}

double Expected(const Sizes& s, const Sample& x, const Sample& grad, int64_t o, int64_t c,
                const int64_t (&tap)[3]) {
  const int64_t in_channels = s.groups * s.in_each, group = o / s.out_each;
  double sum = 0;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t p = 0; p < s.out(0) * s.out(1) * s.out(2); ++p) {
      const int64_t at[] = {p / s.out(2) / s.out(1), p / s.out(2) % s.out(1), p % s.out(2)};
      int64_t pixel = n * in_channels + group * s.in_each + c;
      bool inside = true;
      for (int d = 0; d < 3; ++d) {
        const int64_t i = at[d] * s.stride[d] - s.before[d] + tap[d] * s.dilation[d];
        inside = inside && i >= 0 && i < s.in[d];
        pixel = pixel * s.in[d] + i;
      }
      if (!inside) continue;
      const int64_t position = (n * s.groups * s.out_each + o) * s.out(0) * s.out(1) * s.out(2) + p;
      sum += double{Floats(x)[pixel]} * double{Floats(grad)[position]};
    }
  }
  return sum;
}

Sample Computed(const Sizes& s, Sample& x, Sample& grad) {
  Sample weight = Tensor3(s.groups * s.out_each, s.in_each, s.kernel);
  auto plan = testing::NewPlan();
  const Operand input = x.BoundTo(*plan, Access::kRead, "x"),
                out = grad.BoundTo(*plan, Access::kRead, "grad"),
                shape = weight.BoundTo(*plan, Access::kWrite, "weight");
  PlanWeightGradient(*plan,
                     {.input = input,
                      .weight = shape,
                      .bias = {},
                      .residual = {},
                      .out = out,
                      .strides = s.stride,
                      .dilations = s.dilation,
                      .before = s.before,
                      .after = s.after,
                      .groups = s.groups},
                     shape);
  testing::RunPlan(*plan);
  return weight;
}

class WeightGradient : public testing::SimdLevels {
 protected:
  std::mt19937 rng_{7};
  int64_t Draw(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(rng_);
  }

  // Both as they are, and as what they are in each type: its elements hold the numbers drawn exactly.
  // `odd`: an element of the gradient at a corner of the first plane, which sees the padding.
  void Check(const Sizes& s, float odd = 1) {
    const int64_t out[] = {s.out(0), s.out(1), s.out(2)};
    Sample x = Tensor3(s.batch, s.groups * s.in_each, s.in),
           grad = Tensor3(s.batch, s.groups * s.out_each, out);
    x.Randomise(rng_), grad.Randomise(rng_);
    Floats(grad)[0] = odd;
    CheckFound(s, x, grad, Computed(s, x, grad));
    for (DType type : {DType::kBF16, DType::kF16}) {
      Sample of_x = As(type, x), of_grad = As(type, grad);
      CheckFound(s, x, grad, Computed(s, of_x, of_grad));
    }
  }

  static Sample As(DType type, const Sample& floats) {
    Sample as(type, floats.tensor.shape);
    tensor::Convert(type, as.tensor.data, DType::kF32, floats.tensor.data, as.tensor.count());
    return as;
  }

  static void CheckFound(const Sizes& s, const Sample& x, const Sample& grad, const Sample& found) {
    const float* next = Floats(found);
    for (int64_t o = 0; o < s.groups * s.out_each; ++o) {
      for (int64_t c = 0; c < s.in_each; ++c) {
        for (int64_t t = 0; t < s.kernel[0] * s.kernel[1] * s.kernel[2]; ++t) {
          const int64_t tap[] = {t / s.kernel[2] / s.kernel[1], t / s.kernel[2] % s.kernel[1],
                                 t % s.kernel[2]};
          const double expected = Expected(s, x, grad, o, c, tap);
          const double value = *next++;
          if (std::isfinite(expected)) {
            ASSERT_NEAR(value, expected, 1e-4 * (1 + std::abs(expected))) << o << " " << c << " " << t;
          } else {
            ASSERT_EQ(std::isnan(value), std::isnan(expected)) << o << " " << c << " " << t;
            ASSERT_TRUE(std::isnan(value) || value == expected) << o << " " << c << " " << t;
          }
        }
      }
    }
  }

  Sizes Drawn() {
    Sizes s{Draw(1, 3), Draw(1, 3), 1, 1, {}, {}, {}, {}, {}, {}};
    s.in_each = Draw(0, 1) != 0 ? Draw(1, 9) : Draw(14, 52), s.out_each = Draw(1, 12);
    for (int d = 0; d < 3; ++d) {
      s.kernel[d] = Draw(1, 3), s.stride[d] = Draw(1, 2), s.dilation[d] = Draw(1, 2);
      s.before[d] = Draw(0, 2), s.after[d] = Draw(0, 2);
      s.in[d] = Draw((s.kernel[d] - 1) * s.dilation[d] + 1, d == 0 ? 6 : 9);
    }
    return s;
  }
};

TEST_P(WeightGradient, SizesDrawnAtRandom) {
  for (int n = 0; n < 20; ++n) Check(Drawn());
}

TEST_P(WeightGradient, EveryWay) {
  // Depthwise, also with blocks that end within a vector; grouped; few channels.
  Check({2, 20, 1, 1, {1, 9, 11}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}});
  Check({1, 32, 1, 2, {1, 7, 7}, {1, 7, 7}, {1, 1, 1}, {1, 1, 1}, {0, 3, 3}, {0, 3, 3}});
  Check({2, 5, 3, 3, {1, 6, 8}, {1, 1, 5}, {1, 1, 2}, {1, 1, 1}, {0, 0, 2}, {0, 0, 2}});
  Check({1, 1, 3, 17, {1, 30, 33}, {1, 7, 7}, {1, 2, 2}, {1, 1, 1}, {0, 3, 3}, {0, 3, 3}});
  // Patches, whose pixels become channels; rows longer than a piece; positions that see one pixel each.
  Check({2, 1, 3, 9, {1, 16, 24}, {1, 4, 8}, {1, 4, 8}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}});
  Check({1, 1, 20, 3, {1, 1, 1300}, {1, 1, 5}, {1, 1, 1}, {1, 1, 3}, {0, 0, 6}, {0, 0, 6}});
  Check({3, 2, 40, 10, {2, 13, 17}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}});
  Check({2, 1, 33, 8, {1, 9, 9}, {1, 1, 1}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}});
  // Of fifty pieces twelve slices of five would leave two without any.
  Check({1, 1, 1, 2, {1, 51, 272}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}});
  Check({1, 1, 16, 2, {1, 51, 272}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}});
}

// What a gradient that is not finite sees of the padding is not zero times infinity.
TEST_P(WeightGradient, NotFiniteBesidePadding) {
  for (float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Check({1, 18, 1, 1, {1, 5, 6}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, odd);
    Check({1, 1, 3, 5, {3, 5, 6}, {2, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}}, odd);
    Check({1, 1, 24, 5, {1, 5, 6}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, odd);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, WeightGradient, ::testing::Range(0, 3));

}  // namespace
}  // namespace belay::ops
