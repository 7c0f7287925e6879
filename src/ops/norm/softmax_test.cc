#include <gtest/gtest.h>

#include <cmath>

#include "base/simd_targets.h"
#include "ops/kernels.h"
#include "ops/reference/reference.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Layout;
using testing::Sample;

void RunSoftmax(Sample& in, int64_t dim, Sample& out) {
  PlanRef plan = testing::NewPlan();
  Operand self = in.BoundTo(*plan, Access::kRead, "self");
  kernels::Softmax(*plan, in.tensor.dtype, self, dim, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
}

double Error(DType type, const Shape& shape, Layout in_layout, Layout out_layout, int64_t dim,
             std::mt19937& rng) {
  Sample in(type, shape, in_layout), out(type, shape, out_layout);
  in.Randomise(rng, 20);
  Sample want = out.Copied();
  reference::Softmax(in.tensor, dim, want.tensor);
  RunSoftmax(in, dim, out);
  return testing::Distance(out.tensor, want.tensor);
}

class Softmax : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (simd::SetLevel(GetParam()) != GetParam()) GTEST_SKIP() << "this processor lacks the level";
  }
  void TearDown() override { simd::SetLevel(9); }
  std::mt19937 rng_{5};
};
INSTANTIATE_TEST_SUITE_P(Simd, Softmax, ::testing::Values(0, 1, 2));

TEST_P(Softmax, AllTypesDimsAndLayouts) {
  for (auto [type, allowed] :
       {std::pair{DType::kF32, 4e-7}, {DType::kF16, 5e-4}, {DType::kBF16, 4e-3}, {DType::kF64, 1e-15}}) {
    for (Layout in : {Layout::kPacked, Layout::kTransposed, Layout::kStepped, Layout::kRepeated}) {
      for (Layout out : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
        for (int dim : {0, 1, -1}) {
          EXPECT_LE(Error(type, {5, 33, 70}, in, out, dim, rng_), allowed)
              << NameOf(type) << " dim " << dim << " layouts " << int(in) << int(out);
        }
      }
    }
  }
}

TEST_P(Softmax, OddShapes) {
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{0, 3}, Shape{3, 0}, Shape{1300}, Shape{2, 1, 2, 1, 3, 1, 2, 2}}) {
    EXPECT_LE(Error(DType::kF32, shape, Layout::kPacked, Layout::kPacked, -1, rng_), 4e-7)
        << shape.ToString();
  }
}

// So long that nothing is kept between the passes.
TEST_P(Softmax, LongRows) {
  EXPECT_LE(Error(DType::kF32, {2100, 260}, Layout::kPacked, Layout::kPacked, 0, rng_), 4e-7);
  EXPECT_LE(Error(DType::kF16, {530'000}, Layout::kStepped, Layout::kPacked, 0, rng_), 5e-4);
}

TEST_P(Softmax, SmallResultsAreAccurateToo) {
  Sample in(DType::kF32, {88}), out(DType::kF32, {88});
  for (int i = 0; i < 88; ++i) static_cast<float*>(in.tensor.data)[i] = -static_cast<float>(i) + 0.013f * i;
  RunSoftmax(in, 0, out);
  double sum = 0;
  for (int i = 0; i < 88; ++i) sum += std::exp(static_cast<double>(static_cast<float*>(in.tensor.data)[i]));
  for (int i = 0; i < 86; ++i) {
    double want = std::exp(static_cast<double>(static_cast<float*>(in.tensor.data)[i])) / sum;
    EXPECT_NEAR(static_cast<float*>(out.tensor.data)[i] / want, 1, 5e-7) << i;
  }
}

TEST_P(Softmax, SpecialValues) {
  Sample in(DType::kF32, {3, 40}), out(DType::kF32, {3, 40});
  auto* x = static_cast<float*>(in.tensor.data);
  auto* y = static_cast<float*>(out.tensor.data);
  std::fill(x, x + 40, -INFINITY);
  x[7] = 3;
  x[40] = NAN;
  x[80] = 1e30f;
  RunSoftmax(in, -1, out);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(y[i], i == 7 ? 1 : 0);
    EXPECT_TRUE(std::isnan(y[40 + i]));
    EXPECT_EQ(y[80 + i], i == 0 ? 1 : 0);
  }
}

}  // namespace
}  // namespace belay::ops
