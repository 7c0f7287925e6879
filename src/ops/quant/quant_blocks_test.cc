// Scales of blocks along an axis, the last of which may be shorter.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/quant/quant.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Floats;
using testing::Sample;

TEST(Quant, BlocksHaveScalesOfTheirOwn) {
  std::mt19937 rng(41);
  for (int turn = 0; turn < 200; ++turn) {
    const bool back = turn % 2 == 0, zeros = turn % 3 != 0, bytes = turn % 5 < 3;
    const int64_t outer = 1 + static_cast<int64_t>(rng() % 4), axis = 1 + static_cast<int64_t>(rng() % 90),
                  inner = turn % 4 == 3 ? 1 + static_cast<int64_t>(rng() % 5) : 1,
                  block = 1 + static_cast<int64_t>(rng() % 70), blocks = (axis + block - 1) / block;
    const DType whole = bytes ? DType::kI8 : DType::kF32;
    Sample x(back ? whole : DType::kF32, {outer, axis, inner}),
        y(back ? DType::kF32 : whole, {outer, axis, inner}), scale(DType::kF32, {outer, blocks, inner}),
        zero(DType::kF32, {outer, blocks, inner});
    x.Randomise(rng), scale.Randomise(rng), zero.Randomise(rng, 3);
    for (int64_t i = 0; i < scale.tensor.count(); ++i)
      Floats(scale)[i] = std::abs(Floats(scale)[i]) + 0.5f, Floats(zero)[i] = std::round(Floats(zero)[i]);
    PlanRef plan = testing::NewPlan();
    QuantArgs args{back ? QuantStep::kDequantize : QuantStep::kQuantize,
                   x.BoundTo(*plan, Access::kRead, "x"),
                   scale.BoundTo(*plan, Access::kRead, "scale"),
                   {},
                   {},
                   1,
                   block,
                   -128,
                   127};
    if (zeros) args.zero = zero.BoundTo(*plan, Access::kRead, "zero");
    args.out = y.BoundTo(*plan, Access::kWrite, "y");
    PlanQuant(*plan, args);
    testing::RunPlan(*plan);
    const auto number = [](const Sample& s, int64_t i) {
      return s.tensor.dtype == DType::kI8
                 ? static_cast<float>(static_cast<int8_t>(s.storage[static_cast<size_t>(i)]))
                 : Floats(s)[i];
    };
    for (int64_t i = 0; i < x.tensor.count(); ++i) {
      const int64_t which = (i / inner / axis * blocks + i / inner % axis / block) * inner + i % inner;
      const float s = Floats(scale)[which], z = zeros ? Floats(zero)[which] : 0.0f, v = number(x, i);
      const float want = back ? (v - z) * s : std::nearbyint(v / s) + z;
      ASSERT_EQ(number(y, i), want) << "turn " << turn << ", element " << i;
    }
  }
}

}  // namespace
}  // namespace belay::ops
