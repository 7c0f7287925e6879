#include "ops/norm/nll.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

template <class T>
T* Elements(Sample& sample) {
  return reinterpret_cast<T*>(sample.storage.data()) + sample.tensor.offset;
}

struct Loss {
  Sample x{DType::kF32, {2, 3, 2}}, target{DType::kI64, {2, 2}}, weight{DType::kF32, {3}};
  Sample each{DType::kF32, {2, 2}}, one{DType::kF32, {}}, total{DType::kF32, {}};

  Loss() {
    for (int i = 0; i < 12; ++i) Elements<float>(x)[i] = static_cast<float>(-i);
    const int64_t targets[] = {0, 2, 1, -1};
    const float weights[] = {1, 10, 100};
    std::copy_n(targets, 4, Elements<int64_t>(target));
    std::copy_n(weights, 3, Elements<float>(weight));
  }

  void Run(LossReduction reduction, int64_t ignored) {
    PlanRef plan = testing::NewPlan();
    NllArgs args;
    args.x = x.BoundTo(*plan, Access::kRead, "x"),
    args.target = target.BoundTo(*plan, Access::kRead, "target");
    args.weight = weight.BoundTo(*plan, Access::kRead, "weight");
    args.out = (reduction == LossReduction::kNone ? each : one).BoundTo(*plan, Access::kWrite, "y");
    args.total = total.BoundTo(*plan, Access::kWrite, "total");
    args.reduction = reduction, args.ignored = ignored;
    PlanNll(*plan, args);
    testing::RunPlan(*plan);
  }
};

// x[n, c, i] = -(6 n + 2 c + i): the losses are 0, 5 and 8 without weights; the last target is ignored.
TEST(Nll, WeighsAndIgnores) {
  Loss loss;
  loss.Run(LossReduction::kNone, -1);
  EXPECT_EQ(std::vector<float>(Elements<float>(loss.each), Elements<float>(loss.each) + 4),
            (std::vector<float>{0, 500, 80, 0}));
  loss.Run(LossReduction::kSum, -1);
  EXPECT_EQ(*Elements<float>(loss.one), 580);
  loss.Run(LossReduction::kMean, -1);
  EXPECT_FLOAT_EQ(*Elements<float>(loss.one), 580.0f / 111);
  EXPECT_EQ(*Elements<float>(loss.total), 111);
}

TEST(Nll, ATargetThatIsNoClassFails) {
  Loss loss;
  EXPECT_THROW(loss.Run(LossReduction::kSum, -100), Error);
}

}  // namespace
}  // namespace belay::ops
