// Slices of a few elements, which are taken together or within one vector.
#include <gtest/gtest.h>

#include <cmath>

#include "base/simd_targets.h"
#include "ops/kernels.h"
#include "ops/norm/normalise.h"
#include "ops/reference/reference.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using reference::ForEach;
using reference::Get;
using reference::Real;
using testing::Layout;
using testing::Sample;

// The largest error of slices of the dimensions of a mask.
double MomentsError(const Sample& x, const Sample& out, const Normalisation& how, uint32_t mask) {
  Shape lines = x.tensor.shape, slice = lines;
  for (int d = 0; d < lines.rank(); ++d) (mask >> d & 1 ? lines[d] : slice[d]) = 1;
  double worst = 0;
  ForEach(lines, [&](const Shape& line) {
    const auto each = [&](const auto& visit) {
      ForEach(slice, [&](Shape i) {
        for (int d = 0; d < i.rank(); ++d) i[d] += line[d];
        visit(i);
      });
    };
    Real mean = 0, squares = 0, count = 0;
    each([&](const Shape& i) { mean += Get(x.tensor, i), ++count; });
    mean = how.statistic == Statistic::kMoments ? mean / count : 0;
    each([&](const Shape& i) { squares += (Get(x.tensor, i) - mean) * (Get(x.tensor, i) - mean) / count; });
    const Real root =
        how.epsilon_outside ? std::sqrt(squares) + how.epsilon : std::sqrt(squares + how.epsilon);
    each([&](const Shape& i) {
      const Real want = (Get(x.tensor, i) - mean) / root;
      worst = std::max(worst, double(std::abs(Get(out.tensor, i) - want)));
    });
  });
  return worst;
}

TEST(ShortRows, ByTheirSquares) {
  std::mt19937 rng(31);
  for (int64_t n = 1; n <= 70; ++n) {
    const int64_t rows = n % 2 == 0 ? 7 : 37;
    Sample x(DType::kF32, {rows, n}), out(DType::kF32, {rows, n}), gamma(DType::kF32, {n}),
        rstd(DType::kF32, {rows, 1});
    x.Randomise(rng, 3), gamma.Randomise(rng, 2);
    PlanRef plan = testing::NewPlan();
    Operand in = x.BoundTo(*plan, Access::kRead, "x"), w = gamma.BoundTo(*plan, Access::kRead, "gamma"),
            y = out.BoundTo(*plan, Access::kWrite, "y");
    kernels::RmsNorm(*plan, DType::kF32, in, w, 1e-6, y, rstd.BoundTo(*plan, Access::kWrite, "rstd"));
    simd::SetLevel(static_cast<int>(n % 3));
    testing::RunPlan(*plan);
    for (int64_t r = 0; r < rows; ++r) {
      Real square = 0;
      for (int64_t i = 0; i < n; ++i) square += Get(x.tensor, {r, i}) * Get(x.tensor, {r, i}) / n;
      const Real factor = 1 / std::sqrt(square + 1e-6L);
      EXPECT_NEAR(double(Get(rstd.tensor, {r, 0}) / factor), 1, 1e-6);
      for (int64_t i = 0; i < n; ++i) {
        const Real want = Get(x.tensor, {r, i}) * factor * Get(gamma.tensor, {i});
        ASSERT_NEAR(double(Get(out.tensor, {r, i})), double(want), 2e-6 * (1 + std::abs(double(want)))) << n;
      }
    }
  }
  simd::SetLevel(9);
}

TEST(ShortRows, WithOneWeightForEach) {
  std::mt19937 rng(32);
  for (int64_t inner : {1, 2, 3, 4, 15, 16, 17, 40, 64, 65, 300, 1300}) {
    for (int given = 0; given < 12; ++given) {
      const int64_t channels = given < 4 ? 5 : 19;
      simd::SetLevel(given / 4);
      Sample x(DType::kF32, {2, channels, inner}), out(DType::kF32, {2, channels, inner}),
          gamma(DType::kF32, {channels}), beta(DType::kF32, {channels});
      x.Randomise(rng), gamma.Randomise(rng, 2), beta.Randomise(rng, 2);
      for (int64_t i = 0; i < inner; ++i) testing::Floats(x)[inner + i] += 500;  // far from zero
      PlanRef plan = testing::NewPlan();
      Operand in = x.BoundTo(*plan, Access::kRead, "x"), w, b;
      if ((given & 1) != 0) w = gamma.BoundTo(*plan, Access::kRead, "gamma");
      if ((given & 2) != 0) b = beta.BoundTo(*plan, Access::kRead, "beta");
      NormOperands operands{in, out.BoundTo(*plan, Access::kWrite, "y"), w, b, {}, {}};
      PlanGroupNorm(*plan, 1e-5, DType::kF32, operands, channels, false);
      testing::RunPlan(*plan);
      ForEach({2, channels}, [&](const Shape& c) {
        Real mean = 0, variance = 0;
        for (int64_t i = 0; i < inner; ++i) mean += Get(x.tensor, {c[0], c[1], i}) / inner;
        for (int64_t i = 0; i < inner; ++i)
          variance += std::pow(Get(x.tensor, {c[0], c[1], i}) - mean, 2) / inner;
        for (int64_t i = 0; i < inner; ++i) {
          Real want = (Get(x.tensor, {c[0], c[1], i}) - mean) / std::sqrt(variance + 1e-5L);
          if (w.present()) want *= Get(gamma.tensor, {c[1]});
          if (b.present()) want += Get(beta.tensor, {c[1]});
          ASSERT_NEAR(double(Get(out.tensor, {c[0], c[1], i})), double(want), 3e-5) << inner << " " << given;
        }
      });
    }
  }
  simd::SetLevel(9);
}

// Groups of several channels, each with weights of its own; batches of many of them.
TEST(ShortRows, GroupsOfShortPlanes) {
  std::mt19937 rng(36);
  for (int64_t inner : {1, 2, 6, 15, 40, 600}) {
    for (int given = 0; given < 12; ++given) {
      const int64_t batch = given % 2 == 0 ? 9 : 1, channels = 12, groups = 1 + given / 4,
                    each = channels / groups;
      Sample x(DType::kF32, {batch, channels, inner}), out(DType::kF32, {batch, channels, inner}),
          gamma(DType::kF32, {channels}), beta(DType::kF32, {channels});
      x.Randomise(rng), gamma.Randomise(rng, 2), beta.Randomise(rng, 2);
      PlanRef plan = testing::NewPlan();
      const Operand in = x.BoundTo(*plan, Access::kRead, "x");
      Operand w, b;
      if (given % 4 != 3) w = gamma.BoundTo(*plan, Access::kRead, "gamma");
      if (given % 4 != 2) b = beta.BoundTo(*plan, Access::kRead, "beta");
      NormOperands operands{in, out.BoundTo(*plan, Access::kWrite, "y"), w, b, {}, {}};
      PlanGroupNorm(*plan, 1e-5, DType::kF32, operands, groups, false);
      testing::RunPlan(*plan);
      ForEach({batch, groups}, [&](const Shape& g) {
        Real mean = 0, variance = 0;
        const auto visit = [&](auto&& take) {
          for (int64_t i = 0; i < each * inner; ++i) take(Shape{g[0], g[1] * each + i / inner, i % inner});
        };
        const Real share = Real{1} / (each * inner);
        visit([&](const Shape& i) { mean += Get(x.tensor, i) * share; });
        visit([&](const Shape& i) { variance += std::pow(Get(x.tensor, i) - mean, 2) * share; });
        visit([&](const Shape& i) {
          Real want = (Get(x.tensor, i) - mean) / std::sqrt(variance + 1e-5L);
          if (w.present()) want *= Get(gamma.tensor, {i[1]});
          if (b.present()) want += Get(beta.tensor, {i[1]});
          ASSERT_NEAR(double(Get(out.tensor, i)), double(want), 1e-4) << inner << " " << given;
        });
      });
    }
  }
}

// Of layers, with statistics; every other row has a mean far from zero.
TEST(ShortRows, ByTheirMoments) {
  std::mt19937 rng(35);
  for (int64_t n : {2, 3, 4, 5, 11, 31, 32, 33, 64}) {
    for (int level = 0; level < 3; ++level) {
      const int64_t rows = 41;
      Sample x(DType::kF32, {rows, n}), out(DType::kF32, {rows, n}), gamma(DType::kF32, {n}),
          beta(DType::kF32, {n}), mean(DType::kF32, {rows, 1}), rstd(DType::kF32, {rows, 1});
      x.Randomise(rng), gamma.Randomise(rng), beta.Randomise(rng);
      for (int64_t i = 0; i < rows * n; ++i) testing::Floats(x)[i] += i / n % 2 == 0 ? 0 : 3000;
      PlanRef plan = testing::NewPlan();
      NormOperands operands;
      const Tensor each[2] = {Spread(gamma.tensor, {rows, n}, 1), Spread(beta.tensor, {rows, n}, 1)};
      Tensor stats[2] = {Spread(mean.tensor, {rows, n}, 0), Spread(rstd.tensor, {rows, n}, 0)};
      operands.x = x.BoundTo(*plan, Access::kRead, "x");
      operands.out = out.BoundTo(*plan, Access::kWrite, "out");
      operands.weight = gamma.BoundTo(*plan, Access::kRead, "gamma");
      operands.bias = beta.BoundTo(*plan, Access::kRead, "beta");
      operands.shift = mean.BoundTo(*plan, Access::kWrite, "mean");
      operands.factor = rstd.BoundTo(*plan, Access::kWrite, "rstd");
      operands.weight.tensor = &each[0], operands.bias.tensor = &each[1];
      operands.shift.tensor = &stats[0], operands.factor.tensor = &stats[1];
      PlanNormalise(*plan, {.epsilon = 1e-5}, DType::kF32, operands, 2);
      simd::SetLevel(level);
      testing::RunPlan(*plan);
      for (int64_t r = 0; r < rows; ++r) {
        Real middle = 0, variance = 0;
        for (int64_t i = 0; i < n; ++i) middle += Get(x.tensor, {r, i}) / n;
        for (int64_t i = 0; i < n; ++i) variance += std::pow(Get(x.tensor, {r, i}) - middle, 2) / n;
        const Real factor = 1 / std::sqrt(variance + 1e-5L);
        EXPECT_NEAR(double(Get(mean.tensor, {r, 0})), double(middle), 2e-4);
        EXPECT_NEAR(double(Get(rstd.tensor, {r, 0}) / factor), 1, 1e-6);
        for (int64_t i = 0; i < n; ++i) {
          const Real want = (Get(x.tensor, {r, i}) - middle) * factor * Get(gamma.tensor, {i});
          ASSERT_NEAR(double(Get(out.tensor, {r, i})), double(want + Get(beta.tensor, {i})), 1e-5) << n;
        }
      }
    }
  }
  simd::SetLevel(9);
}

// Channels whose mean is far from zero need it taken off first.
TEST(ShortRows, ChannelsByGivenStatistics) {
  std::mt19937 rng(33);
  for (bool far : {false, true}) {
    for (const Shape& shape : {Shape{3, 7}, Shape{4, 6, 5}, Shape{2, 3, 4, 16}, Shape{2, 3, 65},
                               Shape{1, 9, 2}, Shape{2, 5000, 8}, Shape{1, 20000, 2}}) {
      for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
        const int64_t channels = shape[1];
        Sample x(DType::kF32, shape, layout), out(DType::kF32, shape, layout),
            weight(DType::kF32, {channels}), bias(DType::kF32, {channels}), mean(DType::kF32, {channels}),
            variance(DType::kF32, {channels});
        x.Randomise(rng), weight.Randomise(rng), bias.Randomise(rng), mean.Randomise(rng);
        for (int64_t c = 0; c < channels; ++c) reference::Set(variance.tensor, {c}, c + 1);
        if (far) {
          reference::Set(mean.tensor, {1}, 50'000.25);
          ForEach(shape, [&](const Shape& i) {
            if (i[1] == 1) reference::Set(x.tensor, i, 50'000 + Get(x.tensor, i));
          });
        }
        PlanRef plan = testing::NewPlan();
        ChannelOperands operands;
        operands.x = x.BoundTo(*plan, Access::kRead, "x");
        operands.out = out.BoundTo(*plan, Access::kWrite, "y");
        operands.weight = weight.BoundTo(*plan, Access::kRead, "weight");
        operands.bias = bias.BoundTo(*plan, Access::kRead, "bias");
        operands.mean = mean.BoundTo(*plan, Access::kRead, "mean");
        operands.variance = variance.BoundTo(*plan, Access::kRead, "variance");
        PlanChannelNorm(*plan, 1e-5, DType::kF32, operands, 1);
        testing::RunPlan(*plan);
        ForEach(shape, [&](const Shape& i) {
          const Shape c{i[1]};
          const Real want = (Get(x.tensor, i) - Get(mean.tensor, c)) /
                                std::sqrt(Get(variance.tensor, c) + 1e-5L) * Get(weight.tensor, c) +
                            Get(bias.tensor, c);
          ASSERT_NEAR(double(Get(out.tensor, i)), double(want), 2e-5 * (1 + std::abs(double(want))))
              << shape.ToString() << far;
        });
      }
    }
  }
}

// Slices whose elements lie apart, by their own moments: near zero and far from it.
TEST(ShortRows, MomentsAcrossDimensions) {
  std::mt19937 rng(35);
  for (auto [type, allowed] : {std::pair{DType::kF32, 4e-6}, {DType::kF64, 1e-11}, {DType::kF16, 2e-3}}) {
    for (const Shape& shape :
         {Shape{3, 4, 5, 6}, Shape{3, 1, 20, 33}, Shape{2, 300, 1, 10}, Shape{1, 7, 3, 8}}) {
      for (uint32_t mask = 1; mask < 16; ++mask) {
        for (const Real middle : {Real{0}, Real{200}}) {
          for (const Statistic statistic : {Statistic::kMoments, Statistic::kMeanSquare}) {
            Sample x(type, shape), out(type, shape);
            x.Randomise(rng);
            ForEach(shape, [&](const Shape& i) { reference::Set(x.tensor, i, Get(x.tensor, i) + middle); });
            const bool outside = statistic == Statistic::kMoments && mask % 2 != 0;
            const Normalisation how{.statistic = statistic, .epsilon = 0.1, .epsilon_outside = outside};
            PlanRef plan = testing::NewPlan();
            const Operand in = x.BoundTo(*plan, Access::kRead, "x");
            PlanNormalise(*plan, how, type, {in, out.BoundTo(*plan, Access::kWrite, "y"), {}, {}, {}, {}},
                          mask);
            testing::RunPlan(*plan);
            ASSERT_LE(MomentsError(x, out, how, mask), allowed)
                << NameOf(type) << shape.ToString() << mask << " " << double(middle);
          }
        }
      }
    }
  }
}

TEST(ShortRows, LengthsAlongEveryDimension) {
  std::mt19937 rng(34);
  for (auto [type, allowed] : {std::pair{DType::kF32, 1e-6}, {DType::kF64, 1e-14}, {DType::kF16, 1e-3}}) {
    for (const Shape& shape : {Shape{3, 4, 5}, Shape{300, 2, 33}, Shape{2, 600, 7}}) {
      for (int dim = 0; dim < 3; ++dim) {
        for (Statistic statistic : {Statistic::kSizes, Statistic::kLength}) {
          for (Layout layout : {Layout::kPacked, Layout::kTransposed}) {
            Sample x(type, shape, layout), out(type, shape);
            x.Randomise(rng);
            for (Shape zero{0, 0, 0}; zero[dim] < shape[dim]; ++zero[dim]) reference::Set(x.tensor, zero, 0);
            PlanRef plan = testing::NewPlan();
            const Operand in = x.BoundTo(*plan, Access::kRead, "x");
            PlanNormalise(*plan, {.statistic = statistic}, type,
                          {in, out.BoundTo(*plan, Access::kWrite, "y"), {}, {}, {}, {}}, 1u << dim);
            testing::RunPlan(*plan);
            Shape lines = shape;
            lines[dim] = 1;
            double worst = 0;
            ForEach(lines, [&](Shape i) {
              Real length = 0;
              for (i[dim] = 0; i[dim] < shape[dim]; ++i[dim]) {
                const Real each = std::abs(Get(x.tensor, i));
                length += statistic == Statistic::kSizes ? each : each * each;
              }
              if (statistic == Statistic::kLength) length = std::sqrt(length);
              for (i[dim] = 0; i[dim] < shape[dim]; ++i[dim]) {
                const Real want = length == 0 ? 0 : Get(x.tensor, i) / length;
                worst = std::max(worst, double(std::abs(Get(out.tensor, i) - want)));
              }
            });
            ASSERT_LE(worst, allowed) << NameOf(type) << shape.ToString() << dim;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace belay::ops
