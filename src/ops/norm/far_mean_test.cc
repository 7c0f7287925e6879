// Rows whose mean is far from zero, or that are long: their means and deviations keep the digits that FLOAT
// sums would lose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/kernels.h"
#include "ops/norm/normalise.h"
#include "ops/reduce/reduce.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Floats;
using testing::Sample;

struct FarMoments {
  double mean = 0, variance = 0;
};

FarMoments FarMomentsOf(const float* x, int64_t n) {
  FarMoments m;
  for (int64_t i = 0; i < n; ++i) m.mean += static_cast<double>(x[i]) / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - m.mean;
    m.variance += d * d / static_cast<double>(n);
  }
  return m;
}

// Steps of 1/64, of which FLOAT holds every one below 2^18.
void FillAround(Sample& sample, float middle) {
  for (int64_t i = 0; i < sample.tensor.count(); ++i)
    Floats(sample)[i] = middle + static_cast<float>(i * 7 % 5 - i * 3 % 4) / 64;
}

TEST(FarMean, OfLayers) {
  for (int64_t n : {100, 100'000}) {
    for (float middle : {0.0f, 100'000.0f, -200'000.0f}) {
      Sample x(DType::kF32, {2, n}), out(DType::kF32, {2, n}), mean(DType::kF32, {2, 1}),
          rstd(DType::kF32, {2, 1}), gamma(DType::kF32, {n}), beta(DType::kF32, {n});
      FillAround(x, middle);
      std::fill_n(Floats(gamma), n, 2.0f), std::fill_n(Floats(beta), n, 1.0f);
      PlanRef plan = testing::NewPlan();
      Operand in = x.BoundTo(*plan, Access::kRead, "x"), w = gamma.BoundTo(*plan, Access::kRead, "gamma"),
              b = beta.BoundTo(*plan, Access::kRead, "beta"), y = out.BoundTo(*plan, Access::kWrite, "y"),
              m = mean.BoundTo(*plan, Access::kWrite, "mean");
      const int64_t shape[] = {n};
      kernels::LayerNorm(*plan, DType::kF32, in, std::span(shape), w, b, 1e-5, y, m,
                         rstd.BoundTo(*plan, Access::kWrite, "rstd"));
      testing::RunPlan(*plan);
      for (int64_t r = 0; r < 2; ++r) {
        const FarMoments want = FarMomentsOf(Floats(x) + r * n, n);
        EXPECT_FLOAT_EQ(Floats(mean)[r], static_cast<float>(want.mean));
        const double root = std::sqrt(want.variance + 1e-5);
        EXPECT_NEAR(static_cast<double>(Floats(rstd)[r]) * root, 1, 2e-7);
        for (int64_t i = 0; i < 100; ++i) {
          ASSERT_NEAR(Floats(out)[r * n + i], (Floats(x)[r * n + i] - want.mean) / root * 2 + 1, 2e-6)
              << n << " around " << middle;
        }
      }
    }
  }
}

// Of many images, so that the weights of their groups are laid out beforehand; more than a block of each.
TEST(FarMean, OfGroups) {
  const int64_t images = 9, channels = 4, groups = 2, positions = 1000, each = channels / groups * positions;
  Sample x(DType::kF32, {images, channels, positions}), out(x.Copied()), weight(DType::kF32, {channels}),
      bias(weight.Copied());
  FillAround(x, 100'000);
  for (int64_t c = 0; c < channels; ++c) {
    Floats(weight)[c] = static_cast<float>(c + 1), Floats(bias)[c] = static_cast<float>(c) / 2;
  }
  PlanRef plan = testing::NewPlan();
  PlanGroupNorm(*plan, 0, DType::kF32,
                {x.BoundTo(*plan, Access::kRead, "x"),
                 out.BoundTo(*plan, Access::kWrite, "y"),
                 weight.BoundTo(*plan, Access::kRead, "w"),
                 bias.BoundTo(*plan, Access::kRead, "b"),
                 {},
                 {}},
                groups, false);
  testing::RunPlan(*plan);
  for (int64_t i = 0; i < x.tensor.count(); ++i) {
    const FarMoments of = FarMomentsOf(Floats(x) + i / each * each, each);
    const int64_t c = i / positions % channels;
    const double want = (static_cast<double>(Floats(x)[i]) - of.mean) / std::sqrt(of.variance) *
                            static_cast<double>(Floats(weight)[c]) +
                        static_cast<double>(Floats(bias)[c]);
    ASSERT_NEAR(Floats(out)[i], want, 1e-5) << "element " << i;
  }
}

// A tensor [2, channels, positions] or [2, positions, channels] and what normalises it.
struct Channels {
  Channels(int at, int64_t count, int64_t positions)
      : channel(at),
        along(positions),
        x(DType::kF32, at == 1 ? Shape{2, count, along} : Shape{2, along, count}),
        out(x.Copied()),
        weight(DType::kF32, {count}),
        bias(weight.Copied()),
        mean(weight.Copied()),
        variance(weight.Copied()) {
    for (int64_t c = 0; c < count; ++c) Floats(weight)[c] = 1, Floats(bias)[c] = 0;
  }

  // Each result is near the formula's, by what is larger: a distance, or a share of its size.
  void Check(double epsilon, double distance, double share, bool weighted, bool shifted) {
    PlanRef plan = testing::NewPlan();
    PlanChannelNorm(*plan, epsilon, DType::kF32,
                    {x.BoundTo(*plan, Access::kRead, "x"), out.BoundTo(*plan, Access::kWrite, "y"),
                     weighted ? weight.BoundTo(*plan, Access::kRead, "w") : Operand{},
                     shifted ? bias.BoundTo(*plan, Access::kRead, "b") : Operand{},
                     mean.BoundTo(*plan, Access::kRead, "m"), variance.BoundTo(*plan, Access::kRead, "v")},
                    channel);
    testing::RunPlan(*plan);
    const int64_t count = weight.tensor.count();
    for (int64_t i = 0; i < x.tensor.count(); ++i) {
      const int64_t c = channel == 1 ? i / along % count : i % count;
      const auto at = [c](const Sample& s) { return static_cast<double>(Floats(s)[c]); };
      const double want =
          (static_cast<double>(Floats(x)[i]) - at(mean)) / std::sqrt(at(variance) + epsilon) * at(weight) +
          at(bias);
      ASSERT_NEAR(Floats(out)[i], want, std::max(distance, share * std::abs(want))) << "element " << i;
    }
  }

  int channel;
  int64_t along;
  Sample x, out, weight, bias, mean, variance;
};

// In front of what they have one number for, and behind it.
TEST(FarMean, OfChannels) {
  for (const int at : {1, 2}) {
    SCOPED_TRACE(at);
    Channels channels(at, 2, 75);
    FillAround(channels.x, 100'000);
    for (int64_t c = 0; c < 2; ++c) {
      Floats(channels.mean)[c] = 100'000.03125f;
      Floats(channels.variance)[c] = 4e-4f * static_cast<float>(c + 1);
      Floats(channels.bias)[c] = static_cast<float>(c) / 2;
    }
    channels.Check(0, 2e-6, 0, false, true);
  }
}

TEST(FarMean, OfChannelsBesideALargeBiasIsNear) {
  for (const int at : {1, 2}) {
    SCOPED_TRACE(at);
    Channels channels(at, 2, 75);
    FillAround(channels.x, 0);
    for (int64_t c = 0; c < 2; ++c) {
      Floats(channels.mean)[c] = 0.5f;
      Floats(channels.variance)[c] = 4e-4f * static_cast<float>(c + 1);
      Floats(channels.bias)[c] = static_cast<float>(c) * 100.0f;
    }
    channels.Check(0, 2e-6, 2e-6, false, true);
  }
}

TEST(FarMean, OfChannelsThatAreNear) {
  const testing::InPieces pieces;
  for (const int at : {1, 2}) {
    for (const int64_t positions : {75, 30'000}) {
      SCOPED_TRACE(positions * at);
      Channels channels(at, 7, positions);
      std::mt19937 random(7);
      for (Sample* s : {&channels.x, &channels.mean, &channels.variance, &channels.weight})
        s->Randomise(random, 1);
      for (int64_t c = 0; c < 7; ++c)
        Floats(channels.variance)[c] = 1 + std::abs(Floats(channels.variance)[c]);
      channels.Check(1e-3, 1e-6, 0, true, false);
    }
  }
}

// The variance of the batch is not told from 1 / sqrt(variance + eps), and not only where that is asked for.
TEST(FarMean, OfRunningStatistics) {
  Sample x(DType::kF32, {64, 1}), out(DType::kF32, {64, 1}), mean(DType::kF32, {1}),
      variance(DType::kF32, {1});
  for (int64_t i = 0; i < 64; ++i) Floats(x)[i] = 3 + static_cast<float>(i % 2) / 65536;
  Floats(mean)[0] = Floats(variance)[0] = 0;
  PlanRef plan = testing::NewPlan();
  Operand in = x.BoundTo(*plan, Access::kRead, "x"), m = mean.BoundTo(*plan, Access::kReadWrite, "mean"),
          v = variance.BoundTo(*plan, Access::kReadWrite, "variance");
  kernels::BatchNorm(*plan, DType::kF32,
                     {.input = in,
                      .weight = {},
                      .bias = {},
                      .running_mean = m,
                      .running_var = v,
                      .training = true,
                      .momentum = 1,
                      .eps = 1e-5,
                      .out = out.BoundTo(*plan, Access::kWrite, "y"),
                      .save_mean = {},
                      .save_invstd = {}});
  testing::RunPlan(*plan);
  const FarMoments want = FarMomentsOf(Floats(x), 64);
  EXPECT_NEAR(Floats(mean)[0] / want.mean, 1, 1e-7);
  EXPECT_NEAR(Floats(variance)[0] / (want.variance * 64 / 63), 1, 1e-6);
}

TEST(FarMean, OfVariances) {
  Sample x(DType::kF32, {3, 1000}), out(DType::kF32, {3});
  FillAround(x, 200'000.3f);
  PlanRef plan = testing::NewPlan();
  Operand in = x.BoundTo(*plan, Access::kRead, "x");
  PlanReduce(*plan, {.fold = Fold::kSumOfSquares, .finish = Finish::kDivide, .around_mean = true},
             DType::kF32, in, 2, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  for (int64_t r = 0; r < 3; ++r)
    EXPECT_NEAR(Floats(out)[r] / FarMomentsOf(Floats(x) + r * 1000, 1000).variance, 1, 1e-6);
}

}  // namespace
}  // namespace belay::ops
