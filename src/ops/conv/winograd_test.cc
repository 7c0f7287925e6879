// What is not finite stays where the definition has it, though Winograd's method mixes neighbours.
#include "ops/conv/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/simd_targets.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/conv.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Floats;
using testing::Sample;

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN(),
                kMost = std::numeric_limits<float>::max();
constexpr int64_t kIn = 21, kOut = 38, kRows = 9, kColumns = 10;

// Of images, or of volumes with a kernel through three planes.
struct Network {
  explicit Network(int64_t some_planes = 1) : planes(some_planes), through(some_planes > 1 ? 3 : 1) {
    for (int64_t i = 0; i < x.tensor.count(); ++i) Floats(x)[i] = static_cast<float>(i * 7 % 11 - 5) / 4;
    for (int64_t i = 0; i < w.tensor.count(); ++i) Floats(w)[i] = static_cast<float>(i * 5 % 13 - 6) / 8;
    for (int64_t i = 0; i < added.tensor.count(); ++i) Floats(added)[i] = static_cast<float>(i % 5);
  }
  const int64_t planes, through;
  Sample x{DType::kF32, {1, kIn, planes, kRows, kColumns}}, w{DType::kF32, {kOut, kIn, through, 3, 3}},
      added{DType::kF32, {1, kOut, planes, kRows, kColumns}},
      y{DType::kF32, {1, kOut, planes, kRows, kColumns}};

  float& X(int64_t c, int64_t row, int64_t column, int64_t plane = 0) {
    return Floats(x)[((c * planes + plane) * kRows + row) * kColumns + column];
  }

  void Run(bool packed_ahead) {
    static constexpr int64_t kOnes[] = {1, 1, 1};
    const int64_t around[] = {through / 2, 1, 1};
    PlanRef plan = testing::NewPlan();
    ConvArgs args{.input = x.BoundTo(*plan, Access::kRead, "x"),
                  .weight = {&w.tensor, nullptr, -1, "w"},
                  .bias = {},
                  .residual = added.BoundTo(*plan, Access::kRead, "r"),
                  .out = y.BoundTo(*plan, Access::kWrite, "y"),
                  .strides = kOnes,
                  .dilations = kOnes,
                  .before = around,
                  .after = around,
                  .constant_weight = w.tensor.data};
    std::optional<PackedWeights> packed;
    if (packed_ahead) {
      packed = PackConvWeights(args);
      if (packed) args.packed_weight = &*packed, args.constant_weight = nullptr;
    }
    PlanConv(*plan, args);
    testing::RunPlan(*plan);
  }

  double Defined(int64_t o, int64_t plane, int64_t row, int64_t column) {
    double sum = 0;
    for (int64_t c = 0; c < kIn; ++c) {
      for (int64_t tap = 0; tap < 9 * through; ++tap) {
        const int64_t z = plane + tap / 9 - through / 2, r = row + tap / 3 % 3 - 1, k = column + tap % 3 - 1;
        if (z < 0 || z >= planes || r < 0 || r >= kRows || k < 0 || k >= kColumns) continue;
        sum += static_cast<double>(X(c, r, k, z)) *
               static_cast<double>(Floats(w)[(o * kIn + c) * 9 * through + tap]);
      }
    }
    return sum;
  }

  // Within a few units in the last place of the largest value around.
  void Check(float largest = 1) {
    for (bool packed_ahead : {false, true}) {
      Run(packed_ahead);
      for (int64_t i = 0; i < y.tensor.count(); ++i) {
        const int64_t line = i / kColumns, plane = line / kRows;
        const double sum = Defined(plane / planes, plane % planes, line % kRows, i % kColumns);
        const auto want = static_cast<float>(sum + static_cast<double>(Floats(added)[i])), got = Floats(y)[i];
        if (std::isfinite(want)) {
          const double scale = static_cast<double>(std::max(largest, std::abs(want)));
          ASSERT_NEAR(static_cast<double>(got) / scale, static_cast<double>(want) / scale, 1e-5)
              << "element " << i;
        } else {
          ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
              << "element " << i << ": " << got << ", not " << want;
        }
      }
    }
  }
};

TEST(Winograd, WhatIsNotFiniteStaysWhereItIs) {
  for (int level : {0, 1, 2}) {
    if (simd::SetLevel(level) != level) continue;
    for (float odd : {kInf, -kInf, kNan, kMost}) {
      for (auto [row, column] : {std::pair<int64_t, int64_t>{0, 0}, {4, 5}, {3, 2}, {8, 9}, {7, 0}}) {
        Network network;
        network.X(20, row, column) = odd;
        network.Check(odd == kMost ? kMost : 1);
      }
    }
    Network network;
    network.X(0, 2, 2) = kInf, network.X(5, 3, 3) = -kInf, network.X(7, 8, 8) = kNan;
    network.Check();
    Network volume(4);
    volume.X(3, 2, 2, 0) = kInf, volume.X(20, 3, 9, 3) = kNan;
    volume.Check();
  }
  simd::SetLevel(9);
}

TEST(Winograd, WeightsThatAreNotFiniteOrHuge) {
  for (float odd : {kInf, kNan, kMost}) {
    Network network;
    Floats(network.w)[(11 * kIn + 3) * 9 + 4] = odd;
    if (odd != kMost) Floats(network.w)[(30 * kIn + 3) * 9 + 8] = -odd;
    Floats(network.w)[(30 * kIn + 3) * 9] = odd;
    network.Check(odd == kMost ? kMost : 1);
  }
}

TEST(Winograd, SumsThatDoNotFit) {
  Network network;
  std::fill_n(Floats(network.x), network.x.tensor.count(), kMost / 4);
  std::fill_n(Floats(network.w), network.w.tensor.count(), 0.5f);
  network.Check();
}

}  // namespace
}  // namespace belay::ops
