#include <gtest/gtest.h>

#include <utility>

#include "ops/reduce/reduce.h"
#include "ops/reference/reference.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"
#include "ops/testing/simd_levels.h"

namespace belay::ops {
namespace {

using reference::Real;
using testing::Layout;
using testing::Sample;

class Running : public testing::SimdLevels {
 protected:
  double Error(DType type, const Shape& shape, Layout layout, int dim, Scan how) {
    Sample in(type, shape, layout), out(type, shape);
    in.Randomise(rng_, 2);
    Sample want = out.Copied();
    Shape outer = shape;
    const int64_t size = std::exchange(outer[dim], 1);
    reference::ForEach(outer, [&](Shape i) {
      Real running = how.product ? 1 : 0;
      for (int64_t k = 0; k < size; ++k) {
        i[dim] = how.reverse ? size - 1 - k : k;
        const Real before = running, x = reference::Get(in.tensor, i);
        running = how.product ? running * x : running + x;
        reference::Set(want.tensor, i, how.exclusive ? before : running);
      }
    });
    PlanRef plan = testing::NewPlan();
    Operand self = in.BoundTo(*plan, Access::kRead, "self");
    PlanScan(*plan, how, type, self, dim, out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    return testing::Distance(out.tensor, want.tensor);
  }

  std::mt19937 rng_{14};
};
INSTANTIATE_TEST_SUITE_P(Simd, Running, ::testing::Values(0, 1, 2));

TEST_P(Running, SumsOfAllTypesAndLayouts) {
  for (DType type : {DType::kF32, DType::kF16, DType::kF64, DType::kI32, DType::kI64, DType::kU8}) {
    for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
      for (int variant = 0; variant < 8; ++variant) {
        const Scan how = {false, (variant & 1) != 0, (variant & 2) != 0};
        ASSERT_LE(Error(type, {9, 550}, layout, variant >> 2, how), type == DType::kF16 ? 1e-3 : 1e-6)
            << NameOf(type);
      }
    }
  }
}

// Many short lines and a few long ones, that follow each other or lie side by side.
TEST_P(Running, OfLinesOfAllShapes) {
  const testing::InPieces pieces;
  const Shape shapes[] = {{1},        {97},        {33, 2},     {3, 70, 2}, {5, 3, 4},     {2, 31, 15},
                          {2, 9, 70}, {40, 3, 17}, {2, 2, 700}, {66, 520},  {40, 2, 2, 3}, {4, 33, 33}};
  for (const Shape& shape : shapes) {
    for (int dim = 0; dim < shape.rank(); ++dim) {
      for (int variant = 0; variant < 4; ++variant) {
        const Scan sum = {false, (variant & 1) != 0, (variant & 2) != 0};
        const Scan product = {true, sum.exclusive, sum.reverse};
        EXPECT_LE(Error(DType::kF32, shape, Layout::kPacked, dim, sum), 1e-6) << shape.ToString() << dim;
        EXPECT_LE(Error(DType::kF32, shape, Layout::kStepped, dim, sum), 1e-6) << shape.ToString() << dim;
        EXPECT_LE(Error(DType::kF64, shape, Layout::kPacked, dim, sum), 1e-13) << shape.ToString() << dim;
        EXPECT_EQ(Error(DType::kI32, shape, Layout::kPacked, dim, sum), 0) << shape.ToString() << dim;
        EXPECT_EQ(Error(DType::kI64, shape, Layout::kPacked, dim, sum), 0) << shape.ToString() << dim;
        if (shape[dim] > 17) continue;  // no larger than a number that all digits are kept of
        EXPECT_LE(Error(DType::kF32, shape, Layout::kPacked, dim, product), 1e-6) << shape.ToString() << dim;
        EXPECT_EQ(Error(DType::kI64, shape, Layout::kPacked, dim, product), 0) << shape.ToString() << dim;
      }
    }
  }
}

}  // namespace
}  // namespace belay::ops
