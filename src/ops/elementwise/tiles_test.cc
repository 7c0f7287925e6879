// Operands that repeat and lie in memory in any way, beside rows of any length.
#include <gtest/gtest.h>

#include <optional>

#include "ops/kernels.h"
#include "ops/reference/reference.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Layout;
using testing::Sample;

class BroadcastTiles : public ::testing::Test {
 protected:
  int64_t Pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }

  // About 20 to 20'000 elements.
  Shape AnyShape() {
    Shape shape = Shape::Filled(static_cast<int>(Pick(2, 5)), 1);
    int64_t left = int64_t{20} << Pick(0, 10);
    for (int d = 0; d < shape.rank(); ++d) {
      shape.back(d) = Pick(1, std::min<int64_t>(left, d == 0 ? 300 : 40));
      left = std::max<int64_t>(1, left / shape.back(d));
    }
    return shape;
  }

  Sample Narrowed(DType type, Shape shape) {
    for (int d = 0; d < shape.rank(); ++d) shape[d] = Pick(0, 2) == 0 ? 1 : shape[d];
    const Layout layouts[] = {Layout::kPacked, Layout::kPacked, Layout::kTransposed, Layout::kStepped};
    Sample sample(type, shape, layouts[Pick(0, 3)]);
    sample.Randomise(rng_, 3);
    return sample;
  }

  static reference::Real At(const Sample& sample, Shape i) {
    for (int d = 0; d < i.rank(); ++d) i[d] = sample.tensor.shape[d] == 1 ? 0 : i[d];
    return reference::Get(sample.tensor, i);
  }

  std::mt19937 rng_{17};
};

TEST_F(BroadcastTiles, OfThreeOperands) {
  for (int time = 0; time < 240; ++time) {
    std::optional<testing::InPieces> pieces;
    if (time % 3 == 0) pieces.emplace();
    const DType types[] = {DType::kF32, DType::kF16, DType::kI64, DType::kU8, DType::kI32, DType::kF64};
    const DType type = types[time % 6];
    const Shape shape = AnyShape();
    Sample condition = Narrowed(DType::kBool, shape), x = Narrowed(type, shape), y = Narrowed(type, shape),
           out(type, shape, time % 5 == 0 ? Layout::kTransposed : Layout::kPacked);
    PlanRef plan = testing::NewPlan();
    const Operand of[3] = {condition.BoundTo(*plan, Access::kRead, "condition"),
                           x.BoundTo(*plan, Access::kRead, "x"), y.BoundTo(*plan, Access::kRead, "y")};
    kernels::Where(*plan, type, of[0], of[1], of[2], out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    reference::ForEach(shape, [&](const Shape& i) {
      ASSERT_EQ(reference::Get(out.tensor, i), At(condition, i) != 0 ? At(x, i) : At(y, i))
          << NameOf(type) << shape.ToString() << i.ToString();
    });
  }
}

TEST_F(BroadcastTiles, OfTwoOperandsAndAnyResult) {
  for (int time = 0; time < 240; ++time) {
    const DType types[] = {DType::kF32, DType::kI64, DType::kU8, DType::kI8, DType::kBool};
    const DType results[] = {DType::kBool, DType::kF32, DType::kI64, DType::kF16};
    const DType type = types[time % 5];
    const Shape shape = AnyShape();
    Sample x = Narrowed(type, shape), y = Narrowed(type, shape), less(results[time % 4], shape),
           both(type, shape);
    PlanRef plan = testing::NewPlan(), other = testing::NewPlan();
    const Operand a = x.BoundTo(*plan, Access::kRead, "x"), b = y.BoundTo(*plan, Access::kRead, "y");
    kernels::Less(*plan, type, a, b, less.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    const Operand c = x.BoundTo(*other, Access::kRead, "x"), d = y.BoundTo(*other, Access::kRead, "y");
    const bool whole = !IsFloat(type);
    if (whole) kernels::BitwiseAnd(*other, type, c, d, both.BoundTo(*other, Access::kWrite, "out"));
    if (whole) testing::RunPlan(*other);
    reference::ForEach(shape, [&](const Shape& i) {
      ASSERT_EQ(reference::Get(less.tensor, i), At(x, i) < At(y, i) ? 1 : 0) << shape.ToString();
      if (!whole) return;
      const auto want = static_cast<int64_t>(At(x, i)) & static_cast<int64_t>(At(y, i));
      ASSERT_EQ(reference::Get(both.tensor, i), want) << NameOf(type) << shape.ToString();
    });
  }
}

}  // namespace
}  // namespace belay::ops
