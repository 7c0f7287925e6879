#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "base/simd_targets.h"
#include "ops/kernels.h"
#include "ops/norm/normalise.h"
#include "ops/reference/reference.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using reference::Real;
using testing::Layout;
using testing::Sample;

struct Moments {
  Real mean = 0, variance = 0, square = 0;
};

// Over all elements whose index agrees with `at` in the dimensions outside the mask.
Moments MomentsOf(const Tensor& x, const Shape& at, uint32_t mask) {
  Moments m;
  Real count = 0;
  Shape part = x.shape;
  for (int i = 0; i < part.rank(); ++i) {
    if (!(mask >> i & 1)) part[i] = 1;
  }
  auto each = [&](auto visit) {
    reference::ForEach(part, [&](Shape i) {
      for (int d = 0; d < i.rank(); ++d) {
        if (!(mask >> d & 1)) i[d] = at[d];
      }
      visit(reference::Get(x, i));
    });
  };
  each([&](Real v) { m.mean += v, m.square += v * v, ++count; });
  m.mean /= count, m.square /= count;
  each([&](Real v) { m.variance += (v - m.mean) * (v - m.mean) / count; });
  return m;
}

constexpr Layout kLayouts[] = {Layout::kPacked, Layout::kTransposed, Layout::kStepped};

TEST(Norm, LayersOfAllLayouts) {
  std::mt19937 rng(3);
  for (auto [type, allowed] : {std::pair{DType::kF32, 2e-6}, {DType::kF64, 1e-13}, {DType::kF16, 2e-3}}) {
    for (Layout layout : kLayouts) {
      for (bool weights : {false, true}) {
        Sample x(type, {3, 5, 4, 33}, layout), out(type, {3, 5, 4, 33}, layout), gamma(type, {4, 33}),
            beta(DType::kF32, {4, 33});
        Sample mean(DType::kF32, {3, 5, 1, 1}), rstd(DType::kF32, {3, 5});
        x.Randomise(rng), gamma.Randomise(rng, 2), beta.Randomise(rng, 2);
        PlanRef plan = testing::NewPlan();
        Operand in = x.BoundTo(*plan, Access::kRead, "x"), w, b;
        if (weights)
          w = gamma.BoundTo(*plan, Access::kRead, "gamma"), b = beta.BoundTo(*plan, Access::kRead, "beta");
        const int64_t shape[] = {4, 33};
        Operand m = mean.BoundTo(*plan, Access::kWrite, "mean"),
                r = rstd.BoundTo(*plan, Access::kWrite, "rstd");
        kernels::LayerNorm(*plan, type, in, std::span(shape), w, b, 1e-5,
                           out.BoundTo(*plan, Access::kWrite, "out"), m, r);
        testing::RunPlan(*plan);
        Sample want = out.Copied();
        std::optional<Moments> moments;
        reference::ForEach(x.tensor.shape, [&](const Shape& i) {
          if (i[2] == 0 && i[3] == 0) moments = MomentsOf(x.tensor, i, 0b1100);
          Real y = (reference::Get(x.tensor, i) - moments->mean) / std::sqrt(moments->variance + 1e-5L);
          Shape at{i[2], i[3]};
          if (weights) y = y * reference::Get(gamma.tensor, at) + reference::Get(beta.tensor, at);
          reference::Set(want.tensor, i, y);
          EXPECT_NEAR(double(reference::Get(mean.tensor, {i[0], i[1], 0, 0})), double(moments->mean), 1e-5);
          EXPECT_NEAR(double(reference::Get(rstd.tensor, {i[0], i[1]})),
                      double(1 / std::sqrt(moments->variance + 1e-5L)), 1e-5);
        });
        EXPECT_LE(testing::Distance(out.tensor, want.tensor), allowed) << NameOf(type);
      }
    }
  }
}

// One row of each call is far from zero, one holds an infinity, and one has elements that are all the same.
void FillRowsOfEveryKind(Sample& x, int64_t n, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < x.tensor.count(); ++i) testing::Floats(x)[i] = normal(rng);
  for (int64_t i = 0; i < n; ++i) testing::Floats(x)[n + i] += 1000;
  testing::Floats(x)[2 * n + n / 2] = INFINITY;
  std::fill_n(testing::Floats(x) + 3 * n, n, 3.0f);
}

TEST(Norm, RowsOfEveryLength) {
  std::mt19937 rng(23);
  constexpr int64_t kRows = 6, kBad = 2;
  for (int64_t n = 1; n <= 300; ++n) {
    Sample x(DType::kF32, {kRows, n}), out(DType::kF32, {kRows, n}), gamma(DType::kF32, {n}),
        beta(DType::kF32, {n});
    FillRowsOfEveryKind(x, n, rng);
    gamma.Randomise(rng, 2), beta.Randomise(rng, 2);
    PlanRef plan = testing::NewPlan();
    const Operand in = x.BoundTo(*plan, Access::kRead, "x");
    Operand w, b;
    if (n % 2 == 1) w = gamma.BoundTo(*plan, Access::kRead, "gamma");
    if (n % 4 >= 2) b = beta.BoundTo(*plan, Access::kRead, "beta");
    const int64_t shape[] = {n};
    kernels::LayerNorm(*plan, DType::kF32, in, std::span(shape), w, b, 1e-5,
                       out.BoundTo(*plan, Access::kWrite, "out"), {}, {});
    simd::SetLevel(static_cast<int>(n / 4 % 3));
    testing::RunPlan(*plan);
    for (int64_t r = 0; r < kRows; ++r) {
      const Moments moments = MomentsOf(x.tensor, {r, 0}, 0b10);
      for (int64_t i = 0; i < n; ++i) {
        const auto y = static_cast<double>(testing::Floats(out)[r * n + i]);
        Real want = (reference::Get(x.tensor, {r, i}) - moments.mean) / std::sqrt(moments.variance + 1e-5L);
        if (w.present()) want *= reference::Get(gamma.tensor, {i});
        if (b.present()) want += reference::Get(beta.tensor, {i});
        if (r == kBad) {
          ASSERT_TRUE(std::isnan(y)) << n;
        } else {
          ASSERT_NEAR(y, static_cast<double>(want), 2e-5) << n << " row " << r;
        }
      }
    }
  }
  simd::SetLevel(9);
}

TEST(Norm, GroupsOfChannels) {
  std::mt19937 rng(4);
  for (Layout layout : kLayouts) {
    Sample x(DType::kF32, {2, 6, 5, 7}, layout), out(DType::kF32, {2, 6, 5, 7}), gamma(DType::kF32, {6}),
        beta(DType::kF32, {6});
    x.Randomise(rng), gamma.Randomise(rng), beta.Randomise(rng);
    PlanRef plan = testing::NewPlan();
    Operand in = x.BoundTo(*plan, Access::kRead, "x"), w = gamma.BoundTo(*plan, Access::kRead, "gamma"),
            b = beta.BoundTo(*plan, Access::kRead, "beta");
    kernels::GroupNorm(*plan, DType::kF32,
                       {.self = in,
                        .gamma = w,
                        .beta = b,
                        .n = 2,
                        .c = 6,
                        .hx_w = 35,
                        .group = 3,
                        .eps = 1e-5,
                        .out = out.BoundTo(*plan, Access::kWrite, "out"),
                        .mean_out = {},
                        .rstd_out = {}});
    testing::RunPlan(*plan);
    reference::ForEach(x.tensor.shape, [&](const Shape& i) {
      Real sum = 0, squares = 0;
      reference::ForEach({2, 5, 7}, [&](const Shape& k) {
        Real v = reference::Get(x.tensor, {i[0], i[1] / 2 * 2 + k[0], k[1], k[2]});
        sum += v / 70, squares += v * v / 70;
      });
      Real want = (reference::Get(x.tensor, i) - sum) / std::sqrt(squares - sum * sum + 1e-5L) *
                      reference::Get(gamma.tensor, {i[1]}) +
                  reference::Get(beta.tensor, {i[1]});
      ASSERT_NEAR(double(reference::Get(out.tensor, i)), double(want), 3e-5);
    });
  }
}

TEST(Norm, RootMeanSquareAfterASum) {
  std::mt19937 rng(5);
  Sample a(DType::kF32, {4, 40}), b(DType::kF32, {4, 40}), gamma(DType::kF32, {40}),
      out(DType::kF32, {4, 40}), rstd(DType::kF32, {4, 1}), sum(DType::kF32, {4, 40});
  a.Randomise(rng), b.Randomise(rng), gamma.Randomise(rng);
  PlanRef plan = testing::NewPlan();
  Operand x1 = a.BoundTo(*plan, Access::kRead, "x1"), x2 = b.BoundTo(*plan, Access::kRead, "x2"),
          w = gamma.BoundTo(*plan, Access::kRead, "gamma"), y = out.BoundTo(*plan, Access::kWrite, "y"),
          r = rstd.BoundTo(*plan, Access::kWrite, "rstd");
  kernels::AddRmsNorm(*plan, DType::kF32, x1, x2, w, 1e-6, y, r, sum.BoundTo(*plan, Access::kWrite, "x"));
  testing::RunPlan(*plan);
  reference::ForEach(a.tensor.shape, [&](const Shape& i) {
    Real x = reference::Get(a.tensor, i) + reference::Get(b.tensor, i);
    EXPECT_EQ(reference::Get(sum.tensor, i), x);
    Real factor = 1 / std::sqrt(MomentsOf(sum.tensor, i, 0b10).square + 1e-6L);
    EXPECT_NEAR(double(reference::Get(out.tensor, i)),
                double(x * factor * reference::Get(gamma.tensor, {i[1]})), 2e-5);
  });
}

TEST(Norm, BatchesInTrainingAndAfter) {
  std::mt19937 rng(6);
  Sample x(DType::kF32, {4, 3, 9}), out(DType::kF32, {4, 3, 9}), weight(DType::kF32, {3}),
      bias(DType::kF32, {3}), running_mean(DType::kF32, {3}), running_var(DType::kF32, {3}),
      mean(DType::kF32, {3}), invstd(DType::kF32, {3});
  x.Randomise(rng), weight.Randomise(rng), bias.Randomise(rng), running_mean.Randomise(rng);
  for (int64_t c = 0; c < 3; ++c) reference::Set(running_var.tensor, {c}, 2);
  Sample old_mean = running_mean.Copied();
  for (bool training : {true, false}) {
    PlanRef plan = testing::NewPlan();
    Operand in = x.BoundTo(*plan, Access::kRead, "x"), w = weight.BoundTo(*plan, Access::kRead, "weight"),
            b = bias.BoundTo(*plan, Access::kRead, "bias"),
            rm = running_mean.BoundTo(*plan, Access::kReadWrite, "rm"),
            rv = running_var.BoundTo(*plan, Access::kReadWrite, "rv"),
            y = out.BoundTo(*plan, Access::kWrite, "out"), m = mean.BoundTo(*plan, Access::kWrite, "mean"),
            s = invstd.BoundTo(*plan, Access::kWrite, "invstd");
    kernels::BatchNorm(*plan, DType::kF32,
                       {.input = in,
                        .weight = w,
                        .bias = b,
                        .running_mean = rm,
                        .running_var = rv,
                        .training = training,
                        .momentum = 0.1,
                        .eps = 1e-5,
                        .out = y,
                        .save_mean = m,
                        .save_invstd = s});
    testing::RunPlan(*plan);
    reference::ForEach(x.tensor.shape, [&](const Shape& i) {
      Shape c{i[1]};
      Moments now = MomentsOf(x.tensor, i, 0b101);
      if (training) {
        EXPECT_NEAR(double(reference::Get(running_mean.tensor, c)),
                    double(0.9L * reference::Get(old_mean.tensor, c) + 0.1L * now.mean), 1e-5);
        EXPECT_NEAR(double(reference::Get(running_var.tensor, c)),
                    double(0.9L * 2 + 0.1L * now.variance * 36 / 35), 1e-4);
      } else {
        now.mean = reference::Get(running_mean.tensor, c),
        now.variance = reference::Get(running_var.tensor, c);
      }
      Real want = (reference::Get(x.tensor, i) - now.mean) / std::sqrt(now.variance + 1e-5L) *
                      reference::Get(weight.tensor, c) +
                  reference::Get(bias.tensor, c);
      EXPECT_NEAR(double(reference::Get(out.tensor, i)), double(want), 5e-5);
    });
  }
}

TEST(Gated, HalvesOfAllDims) {
  std::mt19937 rng(8);
  for (int dim : {0, 1}) {
    Sample x(DType::kF32, {6, 44}), out(DType::kF32, dim == 0 ? Shape{3, 44} : Shape{6, 22}), gelu = out;
    x.Randomise(rng, 4);
    gelu.tensor.data = gelu.storage.data();
    auto check = [&](Real (*activation)(Real), bool left) {
      reference::ForEach(out.tensor.shape, [&](const Shape& i) {
        Shape other = i;
        other[dim] += out.tensor.shape[dim];
        Real a = reference::Get(x.tensor, left ? i : other), b = reference::Get(x.tensor, left ? other : i);
        ASSERT_NEAR(double(reference::Get(out.tensor, i)), double(activation(a) * b), 1e-5);
      });
    };
    PlanRef plan = testing::NewPlan();
    Operand in = x.BoundTo(*plan, Access::kRead, "x");
    kernels::SwiGlu(*plan, DType::kF32, in, dim, out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    check([](Real v) { return v / (1 + std::exp(-v)); }, true);
    PlanRef second = testing::NewPlan();
    in = x.BoundTo(*second, Access::kRead, "x");
    Operand y = out.BoundTo(*second, Access::kWrite, "out");
    kernels::GeGlu(*second, DType::kF32, in, dim, 0, false, y,
                   gelu.BoundTo(*second, Access::kWrite, "outGelu"));
    testing::RunPlan(*second);
    check([](Real v) { return v / 2 * std::erfc(-v / std::sqrt(Real{2})); }, false);
  }
}

TEST(CrossEntropy, AndItsGradient) {
  std::mt19937 rng(9);
  Sample x(DType::kF32, {7, 600}), labels(DType::kF32, {7, 600}, Layout::kTransposed), loss(DType::kF32, {7}),
      backprop(DType::kF32, {7, 600});
  x.Randomise(rng), labels.Randomise(rng, 1);
  PlanRef plan = testing::NewPlan();
  Operand in = x.BoundTo(*plan, Access::kRead, "features"),
          want = labels.BoundTo(*plan, Access::kRead, "labels"),
          l = loss.BoundTo(*plan, Access::kWrite, "loss");
  kernels::SoftmaxCrossEntropy(*plan, DType::kF32, in, want, l,
                               backprop.BoundTo(*plan, Access::kWrite, "backprop"));
  testing::RunPlan(*plan);
  for (int64_t r = 0; r < 7; ++r) {
    Real sum = 0, total = 0;
    for (int64_t c = 0; c < 600; ++c) sum += std::exp(reference::Get(x.tensor, {r, c}));
    for (int64_t c = 0; c < 600; ++c) {
      Real value = reference::Get(x.tensor, {r, c}), label = reference::Get(labels.tensor, {r, c});
      total -= label * (value - std::log(sum));
      EXPECT_NEAR(double(reference::Get(backprop.tensor, {r, c})), double(std::exp(value) / sum - label),
                  1e-6);
    }
    EXPECT_NEAR(double(reference::Get(loss.tensor, {r})) / double(total), 1, 1e-5);
  }
}

}  // namespace
}  // namespace belay::ops
