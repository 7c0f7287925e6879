#include <gtest/gtest.h>

#include "ops/kernels.h"
#include "ops/reference/reference.h"
#include "ops/rules.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Layout;
using testing::Sample;

double SumError(DType from, DType to, const Shape& shape, Layout layout, std::vector<int64_t> dims,
                bool keep, std::mt19937& rng) {
  Sample in(from, shape, layout);
  in.Randomise(rng);
  Sample out(to, rules::Reduced({&in.tensor}, dims, keep),
             layout == Layout::kRepeated ? Layout::kPacked : layout);
  Sample want = out.Copied();
  reference::Sum(in.tensor, dims, keep, to, want.tensor);
  PlanRef plan = testing::NewPlan();
  Operand self = in.BoundTo(*plan, Access::kRead, "self");
  kernels::ReduceSum(*plan, to, self, dims, keep, to, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  return testing::Distance(out.tensor, want.tensor);
}

double Allowed(DType type) {
  switch (type) {
    case DType::kF32:
      return 1e-6;
    case DType::kF16:
      return 1e-3;
    case DType::kBF16:
      return 8e-3;
    case DType::kF64:
      return 1e-14;
    default:
      return 0;
  }
}

TEST(Sum, AllTypesAndLayouts) {
  std::mt19937 rng(7);
  for (DType from : testing::kArithmetic) {
    for (DType to : testing::kArithmetic) {
      for (Layout layout :
           {Layout::kPacked, Layout::kTransposed, Layout::kStepped, Layout::kRepeated}) {
        for (const std::vector<int64_t>& dims :
             std::vector<std::vector<int64_t>>{{0}, {1}, {-1}, {0, 2}, {1, 2}, {}}) {
          EXPECT_LE(SumError(from, to, {3, 70, 11}, layout, dims, dims.size() == 1, rng),
                    Allowed(to))
              << NameOf(from) << " to " << NameOf(to) << " layout " << static_cast<int>(layout)
              << " dims " << dims.size();
        }
      }
    }
  }
}

TEST(Sum, OddShapes) {
  std::mt19937 rng(8);
  const Layout packed = Layout::kPacked;
  EXPECT_EQ(SumError(DType::kF32, DType::kF32, {}, packed, {}, false, rng), 0);
  EXPECT_EQ(SumError(DType::kF32, DType::kF32, {}, packed, {-1}, false, rng), 0);
  EXPECT_EQ(SumError(DType::kF32, DType::kF32, {0, 3}, packed, {0}, false, rng), 0);
  EXPECT_EQ(SumError(DType::kF32, DType::kF32, {3, 0}, packed, {0}, false, rng), 0);
  EXPECT_LE(
      SumError(DType::kF32, DType::kF32, {2, 3, 1, 2, 1, 2, 3, 2}, packed, {1, 3, 7}, true, rng),
      1e-6);
  EXPECT_LE(SumError(DType::kF32, DType::kF32, {300000}, packed, {}, false, rng), 1e-6);
  EXPECT_LE(SumError(DType::kF16, DType::kF32, {9000, 3}, packed, {0}, false, rng), 1e-6);
  EXPECT_LE(SumError(DType::kF32, DType::kF32, {1000, 40}, packed, {0}, false, rng), 1e-6);
}

// A plain running sum in f32 is wrong from the eighth digit on and stops growing at 2^24.
TEST(Sum, StaysAccurateOverManyElements) {
  const int64_t n = 20'000'000;
  Sample in(DType::kF32, {n}), out(DType::kF32, {});
  auto* x = static_cast<float*>(in.tensor.data);
  for (int64_t i = 0; i < n; ++i) x[i] = 1.1f;
  PlanRef plan = testing::NewPlan();
  Operand self = in.BoundTo(*plan, Access::kRead, "self");
  kernels::ReduceSum(*plan, DType::kF32, self, {}, false, DType::kF32,
                     out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  EXPECT_NEAR(*static_cast<float*>(out.tensor.data) / (static_cast<double>(1.1f) * n), 1, 1e-7);
}

}  // namespace
}  // namespace belay::ops
